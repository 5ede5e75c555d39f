#if !canImport(Darwin)
    import COpenSSL
    import Foundation

    /// The authorities that a client accepts, with everything else that its TLS connections have in common.
    final class TLSTrust: Sendable {
        /// The authorities of the system.
        static let system = TLSTrust()

        private let made: Locked<TLSContext?>

        /// The authorities of the system, as they are when they are first needed.
        init() {
            made = Locked(nil)
        }

        /// The authorities of a PEM text alone. Throws `TransportError.unsupported` for another text.
        init(pem: String) throws(TransportError) {
            made = Locked(try TLSContext(authorities: try certificates(inPEM: pem)))
        }

        /// The settings of OpenSSL. Reading the authorities of the system takes some milliseconds.
        var context: TLSContext {
            get throws(TransportError) {
                let context = made.change { made -> Result<TLSContext, TransportError> in
                    if let made { return .success(made) }
                    return Result { () throws(TransportError) in
                        let context = try TLSContext()
                        made = context
                        return context
                    }
                }
                return try context.get()
            }
        }
    }

    /// Settings of OpenSSL that TLS connections share: TLS 1.2 or newer, with the certificate checked against the
    /// authorities. It does not change once it is made, so that every thread may use it.
    final class TLSContext: @unchecked Sendable {
        /// Where distributions keep the authorities of the system, if not where OpenSSL was built to look.
        private static let bundles = [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
            "/etc/ssl/cert.pem",
        ]

        let pointer: OpaquePointer

        /// The given authorities, each in DER.
        convenience init(authorities: [[UInt8]]) throws(TransportError) {
            try self.init(empty: ())
            for (index, bytes) in authorities.enumerated() where !accept(bytes) {
                throw .damaged("number \(index + 1) is no certificate")
            }
        }

        /// The authorities of the system, or those that the variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
        convenience init() throws(TransportError) {
            try self.init(empty: ())
            guard SSL_CTX_set_default_verify_paths(pointer) == 1 else { throw Self.failed }
            guard getenv("SSL_CERT_FILE") == nil else { return }
            if let bundle = Self.bundles.first(where: { access($0, R_OK) == 0 }) {
                SSL_CTX_load_verify_locations(pointer, bundle, nil)
            }
        }

        /// Without an authority.
        private init(empty: Void) throws(TransportError) {
            guard let pointer = SSL_CTX_new(TLS_client_method()) else { throw Self.failed }
            self.pointer = pointer
            guard isochron_set_min_version(pointer, TLS1_2_VERSION) == 1 else { throw Self.failed }
            SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
            SSL_CTX_set_options(pointer, isochron_no_renegotiation)
            isochron_set_modes(
                pointer,
                Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS))
        }

        deinit { SSL_CTX_free(pointer) }

        /// Adds an authority. False for bytes that are not a certificate.
        private func accept(_ bytes: [UInt8]) -> Bool {
            bytes.withUnsafeBufferPointer { bytes in
                var next = bytes.baseAddress
                guard let certificate = d2i_X509(nil, &next, bytes.count) else { return false }
                defer { X509_free(certificate) }
                return next == bytes.baseAddress.map { $0 + bytes.count }
                    && X509_STORE_add_cert(SSL_CTX_get_cert_store(pointer), certificate) == 1
            }
        }

        private static let failed = TransportError.unsupported("OpenSSL could not be set up")
    }
#endif
