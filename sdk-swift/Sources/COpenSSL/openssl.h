// The part of OpenSSL that the client uses on Linux. Swift does not import macros that are more than a number: those
// that the client needs are functions and constants here.
#ifndef ISOCHRON_OPENSSL_H
#define ISOCHRON_OPENSSL_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

static const uint64_t isochron_no_renegotiation = SSL_OP_NO_RENEGOTIATION;

static inline int isochron_set_min_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}

static inline void isochron_set_modes(SSL_CTX *context, long modes) { SSL_CTX_set_mode(context, modes); }

static inline int isochron_set_server_name(SSL *tls, const char *name) {
    return (int)SSL_set_tlsext_host_name(tls, name);
}

static inline int isochron_reason(unsigned long error) { return ERR_GET_REASON(error); }

#endif
