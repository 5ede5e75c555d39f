import IsochronSession

private let begin = "-----BEGIN CERTIFICATE-----"
private let end = "-----END CERTIFICATE-----"

/// The certificates of a PEM text, in their order, each in DER. Text around them is skipped, as is usual in such files.
///
/// Throws `TransportError.unsupported` where a certificate is damaged, or where there is none.
func certificates(inPEM text: String) throws(TransportError) -> [[UInt8]] {
    var found: [[UInt8]] = []
    var body: String?
    for line in text.split(whereSeparator: \.isNewline) {
        let line = line.trimmingSpaces
        if line == begin {
            guard body == nil else { throw .damaged("a certificate begins in another one") }
            body = ""
        } else if line == end {
            guard let digits = body, let bytes = fromBase64(digits), !bytes.isEmpty else {
                throw .damaged("certificate \(found.count + 1) is no base64")
            }
            found.append(bytes)
            body = nil
        } else {
            body?.append(line)
        }
    }
    guard body == nil else { throw .damaged("certificate \(found.count + 1) has no end") }
    guard !found.isEmpty else { throw .damaged("there is no certificate in it") }
    return found
}

extension TransportError {
    /// The error of a text that has to hold certificates.
    static func damaged(_ what: String) -> TransportError {
        .unsupported("`ca` takes certificates in PEM, and \(what)")
    }
}

extension Substring {
    fileprivate var trimmingSpaces: String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
            return ""
        }
        return String(self[first...last])
    }
}
