#if !canImport(Darwin)
    import Foundation

    @testable import Isochron

    /// A TCP server under the script of a test. Connections are served one after the other, on one thread.
    final class RawServer: Sendable {
        let port: UInt16
        private let listener: Int32
        private let transcripts: AsyncStream<[UInt8]>

        struct Failed: Error {}

        /// The script serves one connection; later bytes of the client are read to the end, into a transcript.
        init(onIPv6: Bool = false, _ script: @escaping @Sendable (RawPeer) -> Void) throws {
            listener = socket(onIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard listener >= 0, let port = listen(on: listener, isIPv6: onIPv6) else { throw Failed() }
            self.port = port
            let (transcripts, output) = AsyncStream.makeStream(of: [UInt8].self)
            self.transcripts = transcripts
            let listener = listener
            let isStarted = startThread {
                while true {
                    let descriptor = accept(listener, nil, nil)
                    guard descriptor >= 0 else { break }
                    let peer = RawPeer(descriptor: descriptor)
                    script(peer)
                    output.yield(peer.readAll())
                    close(descriptor)
                }
                close(listener)
                output.finish()
            }
            guard isStarted else { throw Failed() }
        }

        /// Ends the thread, once the connection that it serves has ended.
        deinit { shutdown(listener, Int32(SHUT_RDWR)) }

        /// The bytes that the next client sent after the script.
        func transcript() async -> [UInt8] {
            for await transcript in transcripts { return transcript }
            return []
        }
    }

    /// Binds to the loopback; nil if that is not possible.
    private func listen(on descriptor: Int32, isIPv6: Bool) -> UInt16? {
        var storage = sockaddr_storage()
        var size = socklen_t(isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes -> UInt16? in
            let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            bytes.storeBytes(of: UInt16(isIPv6 ? AF_INET6 : AF_INET), as: UInt16.self)
            // The last byte of ::1, or the first and the last of 127.0.0.1.
            if isIPv6 {
                bytes[23] = 1
            } else {
                bytes[4] = 127
                bytes[7] = 1
            }
            guard bind(descriptor, address, size) == 0, listen(descriptor, 64) == 0 else { return nil }
            guard getsockname(descriptor, address, &size) == 0 else { return nil }
            return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }

    /// The server's side of a connection; it blocks.
    struct RawPeer: Sendable {
        let descriptor: Int32

        func write(_ bytes: [UInt8]) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }

        func write(_ text: String) { write(Array(text.utf8)) }

        /// Byte by byte, as separate packets.
        func drip(_ bytes: [UInt8]) {
            var on: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            for byte in bytes {
                write([byte])
                usleep(200)
            }
        }

        /// Reads the client's handshake; returns its key, nil without one.
        func readKey() -> String? {
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                var byte: UInt8 = 0
                guard recv(descriptor, &byte, 1, 0) == 1 else { return nil }
                head.append(byte)
            }
            let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
            return lines.first { $0.hasPrefix("Sec-WebSocket-Key: ") }.map { String($0.dropFirst(19)) }
        }

        /// The valid answer to a handshake.
        static func answer(key: String) -> [UInt8] {
            let accept = Handshake.accept(key: key)
            let fields = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \(accept)"
            return Array("HTTP/1.1 101 Switching Protocols\r\n\(fields)\r\n\r\n".utf8)
        }

        /// The server's side of the handshake.
        func accept() {
            if let key = readKey() { write(Self.answer(key: key)) }
        }

        /// Ends the output.
        func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

        /// Ends with a reset instead of a close.
        func reset() {
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            // The server closes the descriptor itself; until then another socket takes its place.
            let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            dup2(other, descriptor)
            close(other)
        }

        func readAll() -> [UInt8] {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return bytes }
                bytes += buffer[..<count]
            }
        }
    }
#endif
