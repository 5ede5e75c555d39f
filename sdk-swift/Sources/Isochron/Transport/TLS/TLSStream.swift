#if !canImport(Darwin)
    import COpenSSL
    import Foundation

    /// TLS on a socket, by OpenSSL. It holds at most one record in each direction. One thread uses it; that thread
    /// blocks SIGPIPE, because OpenSSL writes to the socket by itself.
    final class TLSStream: ByteStream {
        private let socket: ClientSocket
        private let host: String
        private let tls: OpaquePointer
        /// An error has ended the stream: nothing may be sent any more, not even its end.
        private var isBroken = false

        /// TLS with the server of this name or address, on a socket that is connected to it.
        init(_ socket: ClientSocket, host: String, _ context: TLSContext) throws(TransportError) {
            guard let tls = SSL_new(context.pointer) else { throw .unsupported("OpenSSL has no memory left") }
            self.socket = socket
            self.host = host
            self.tls = tls
            guard SSL_set_fd(tls, socket.descriptor) == 1, expect(host) else {
                throw .unsupported("OpenSSL does not take the host \(host)")
            }
        }

        deinit { SSL_free(tls) }

        /// The certificate has to be for this host. A name, but not an address, is sent to the server (SNI).
        private func expect(_ host: String) -> Bool {
            SSL_set_hostflags(tls, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
            if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host) == 1 { return true }
            return SSL_set1_host(tls, host) == 1 && isochron_set_server_name(tls, host) == 1
        }

        /// Goes on with the handshake. Returns the events of the socket to wait for; nil once it is done, and the
        /// certificate is accepted.
        func handshake() throws(TransportError) -> Int16? {
            ERR_clear_error()
            switch outcome(SSL_connect(tls), 1) {
            case .bytes: return nil
            case .blocked(let events): return events
            case .ended: throw .unreachable("the server closed the connection in the TLS handshake")
            case .failed(let reason):
                if let refusal = certificateRefusal(SSL_get_verify_result(tls), host) { throw .tlsFailed(refusal) }
                if isLost { throw .unreachable("the connection was lost in the TLS handshake: \(reason)") }
                throw .tlsFailed("the TLS handshake with \(host) failed: \(reason)")
            }
        }

        var descriptor: Int32 { socket.descriptor }

        var hasBytes: Bool { SSL_pending(tls) > 0 }

        func receive(into buffer: UnsafeMutableRawBufferPointer) -> StreamOutcome {
            ERR_clear_error()
            var count = 0
            let status = SSL_read_ex(tls, buffer.baseAddress, buffer.count, &count)
            return outcome(status, count)
        }

        func send(_ bytes: UnsafeRawBufferPointer) -> StreamOutcome {
            ERR_clear_error()
            var count = 0
            let status = SSL_write_ex(tls, bytes.baseAddress, bytes.count, &count)
            return outcome(status, count)
        }

        func finish() {
            guard !isBroken else { return }
            ERR_clear_error()
            SSL_shutdown(tls)
        }

        /// The connection itself has ended, as opposed to a fault of TLS.
        private var isLost = false

        private func outcome(_ status: Int32, _ count: Int) -> StreamOutcome {
            let number = errno
            if status == 1 { return .bytes(count) }
            switch SSL_get_error(tls, status) {
            case SSL_ERROR_WANT_READ: return .blocked(until: Int16(POLLIN))
            case SSL_ERROR_WANT_WRITE: return .blocked(until: Int16(POLLOUT))
            case SSL_ERROR_ZERO_RETURN: return .ended
            case SSL_ERROR_SSL:
                let error = ERR_peek_error()
                isBroken = true
                isLost = isochron_reason(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING
                return .failed(tlsFault(error))
            default:
                isBroken = true
                isLost = true
                return .failed(SystemError(number).description)
            }
        }
    }
#endif
