// The Swift client under remote control: end-to-end tests and benchmarks write commands to its standard input.

import Foundation

@main
struct Main {
    static func main() async {
        let driver = Driver()
        for await line in inputLines() {
            do {
                await driver.take(try JSONDecoder().decode(Command.self, from: Data(line.utf8)))
            } catch {
                FileHandle.standardError.write(Data("not a command: \(line): \(error)\n".utf8))
                exit(2)
            }
        }
    }

    /// A thread waits for them: no asynchronous read of the standard input works on every platform.
    private static func inputLines() -> AsyncStream<String> {
        AsyncStream { lines in
            Thread.detachNewThread {
                while let line = readLine() { lines.yield(line) }
                lines.finish()
            }
        }
    }
}
