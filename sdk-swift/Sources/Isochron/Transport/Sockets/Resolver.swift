#if !canImport(Darwin)
    import Foundation

    /// One lookup of a host's addresses.
    ///
    /// The system's lookup cannot be interrupted, so it has a thread of its own: a caller may stop waiting, and the
    /// thread ends by itself when the system answers.
    final class Resolution: Sendable {
        enum Outcome: Sendable {
            case addresses([SocketAddress])
            case failed(String)
        }

        private let result = Locked<Outcome?>(nil)
        /// Nil until the system has answered.
        var outcome: Outcome? { result.get() }

        /// Starts a lookup; `wake` is signalled at its end. A numeric address is resolved at once.
        static func start(host: String, port: UInt16, wake: WakeUp) -> Resolution {
            let resolution = Resolution()
            let figures = lookUp(host: host, port: port, flags: AI_NUMERICHOST)
            if case .addresses = figures {
                resolution.result.set(figures)
                return resolution
            }
            let isStarted = startThread {
                let outcome = lookUp(host: host, port: port, flags: 0)
                resolution.result.set(outcome)
                wake.signal()
            }
            if !isStarted { resolution.result.set(.failed("no thread is left for the lookup")) }
            return resolution
        }
    }

    private func lookUp(host: String, port: UInt16, flags: Int32) -> Resolution.Outcome {
        var hints = addrinfo()
        hints.ai_flags = flags | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0 else { return .failed(String(cString: gai_strerror(status))) }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = list
        while let info = entry?.pointee {
            if let address = info.ai_addr {
                let bytes = UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen))
                addresses.append(SocketAddress(family: info.ai_family, bytes: Array(bytes)))
            }
            entry = info.ai_next
        }
        return addresses.isEmpty ? .failed("it has no address") : .addresses(addresses)
    }
#endif
