#if !canImport(Darwin)
    import COpenSSL

    /// Why a certificate is not accepted; nil if it is, or has not been checked.
    func certificateRefusal(_ result: Int, _ host: String) -> String? {
        switch Int32(truncatingIfNeeded: result) {
        case X509_V_OK: return nil
        case X509_V_ERR_CERT_HAS_EXPIRED: return "the certificate of \(host) has expired: the server needs a new one"
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return "the certificate of \(host) is not valid yet: compare the clocks of both sides"
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return "the certificate of the server is not for \(host): use a host that it names"
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
            X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_CERT_SIGNATURE_FAILURE:
            return "the authority of the certificate of \(host) is not accepted: give it to the client as `ca`"
        default:
            let reason = X509_verify_cert_error_string(result).map { String(cString: $0) } ?? "error \(result)"
            return "the certificate of \(host) is not accepted: \(reason)"
        }
    }

    /// The sentence of an error of OpenSSL.
    func tlsFault(_ error: UInt) -> String {
        switch isochron_reason(error) {
        case SSL_R_UNEXPECTED_EOF_WHILE_READING: return "the server ended the connection without the end of TLS"
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST: return "the server does not use TLS at this port"
        default: return ERR_reason_error_string(error).map { String(cString: $0) } ?? "error \(error) of OpenSSL"
        }
    }
#endif
