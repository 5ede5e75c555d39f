import IsochronSession
import Testing

@testable import Isochron

/// A block of a PEM text.
private func block(_ bytes: [UInt8], _ label: String = "CERTIFICATE") -> String {
    "-----BEGIN \(label)-----\n\(toBase64(bytes))\n-----END \(label)-----\n"
}

@Suite("Authorities in PEM")
struct PEMTests {
    @Test("All certificates of a text are read, in their order, with any line ends and with text around them")
    func several() throws {
        let (one, two) = ([UInt8](0...200), [UInt8](7...90))
        let text = "Subject: one\n" + block(one) + block([1, 2], "PRIVATE KEY") + "\nSubject: two\n" + block(two)
        #expect(try certificates(inPEM: text) == [one, two])
        #expect(try certificates(inPEM: text.split(separator: "\n").joined(separator: "\r\n")) == [one, two])
        #expect(try certificates(inPEM: "  " + block(one).split(separator: "\n").joined(separator: " \n\t")) == [one])
    }

    @Test(
        "A text without a whole certificate is refused with the reason",
        arguments: [
            ("", "there is no certificate"), ("no certificate", "there is no certificate"),
            (block([1, 2], "PRIVATE KEY"), "there is no certificate"),
            ("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", "certificate 1 is no base64"),
            ("-----BEGIN CERTIFICATE-----\n%%%%\n-----END CERTIFICATE-----", "certificate 1 is no base64"),
            (block([1]) + "-----BEGIN CERTIFICATE-----\nAAAA\n", "certificate 2 has no end"),
            ("-----BEGIN CERTIFICATE-----\n" + block([1]), "begins in another one"),
            ("-----END CERTIFICATE-----", "is no base64"),
        ])
    func refused(text: String, reason: String) {
        #expect(performing: { try certificates(inPEM: text) }, throws: { "\($0)".contains(reason) })
    }

    @Test("Bytes that are no certificate, and those with more behind them, are no authority")
    func notACertificate() throws {
        for bytes in [[1, 2, 3], [0x30, 0x03, 0x02, 0x01, 0x05]] as [[UInt8]] {
            #expect(
                performing: { try TLSTrust(pem: block(bytes)) },
                throws: { "\($0)".contains("number 1 is no certificate") })
        }
        guard TestServer.isStarted else { return }
        let ca = try certificates(inPEM: TestServer.description().tls.ca)
        _ = try TLSTrust(pem: block(ca[0]))
        #expect(
            performing: { try TLSTrust(pem: block(ca[0]) + block(ca[0] + [0])) },
            throws: { "\($0)".contains("number 2 is no certificate") })
    }

    @Test("Clients share the sockets of their authorities alone")
    func pools() throws {
        guard TestServer.isStarted else { return }
        let tls = try TestServer.description().tls
        let pools = try [nil, tls.ca, tls.otherCa].map { try ObjectIdentifier(SocketPool.ofProcess(ca: $0)) }
        #expect(Set(pools).count == 3)
        #expect(try ObjectIdentifier(SocketPool.ofProcess(ca: tls.ca)) == pools[1])
    }
}
