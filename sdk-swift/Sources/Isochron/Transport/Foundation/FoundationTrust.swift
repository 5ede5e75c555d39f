#if canImport(Darwin)
    import Foundation
    import Security

    /// The authorities that a client accepts.
    struct TLSTrust: Sendable {
        /// The authorities of the system.
        static let system = TLSTrust(authorities: nil)

        /// Certificates in DER; nil for those of the system.
        private let authorities: [Data]?

        private init(authorities: [Data]?) {
            self.authorities = authorities
        }

        /// The authorities of a PEM text alone. Throws `TransportError.unsupported` for another text.
        init(pem: String) throws(TransportError) {
            let authorities = try certificates(inPEM: pem).map { Data($0) }
            for (index, bytes) in authorities.enumerated()
            where SecCertificateCreateWithData(nil, bytes as CFData) == nil {
                throw .damaged("number \(index + 1) is no certificate")
            }
            self.init(authorities: authorities)
        }

        /// The reason for which the chain of a server is refused by given authorities; nil if it is accepted, or if the
        /// system decides.
        func refusal(of challenge: URLAuthenticationChallenge) -> String? {
            guard let authorities, let chain = challenge.protectionSpace.serverTrust else { return nil }
            let anchors = authorities.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
            SecTrustSetAnchorCertificates(chain, anchors as CFArray)
            SecTrustSetAnchorCertificatesOnly(chain, true)
            var error: CFError?
            if SecTrustEvaluateWithError(chain, &error) { return nil }
            let reason = error.map { ($0 as any Error).localizedDescription } ?? "its chain is not valid"
            return "the certificate of \(challenge.protectionSpace.host) is not accepted: \(reason)"
        }

        /// The answer to a challenge whose chain was not refused.
        func acceptance(
            of challenge: URLAuthenticationChallenge
        ) -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            guard authorities != nil, let chain = challenge.protectionSpace.serverTrust else {
                return (.performDefaultHandling, nil)
            }
            return (.useCredential, URLCredential(trust: chain))
        }
    }
#endif
