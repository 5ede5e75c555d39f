import Foundation
import Isochron

/// Writes the result of a command as one whole line.
func say(_ reply: Reply) {
    guard var line = try? JSONEncoder().encode(reply) else { return }
    line.append(UInt8(ascii: "\n"))
    FileHandle.standardOutput.write(line)
}

func say(_ id: Int, _ error: any Error) {
    var reply = Reply(id)
    switch error {
    case let error as IsochronError: reply.failure = Failure(code: error.code.rawValue, message: error.message)
    case is CancellationError: reply.failure = Failure(code: "cancelled", message: "the task was cancelled")
    default: reply.failure = Failure(code: "\(type(of: error))", message: "\(error)")
    }
    say(reply)
}
