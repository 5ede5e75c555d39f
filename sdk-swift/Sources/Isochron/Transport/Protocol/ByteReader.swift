import Foundation

/// Reads received bytes from front to back and never beyond their end.
struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    /// The bytes have to stay in place while the reader is used.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// The next byte, nil at the end.
    mutating func next() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    /// The next bytes, at most `most`.
    mutating func take(_ most: Int) -> UnsafeRawBufferPointer {
        let end = position + max(0, min(most, bytes.count - position))
        defer { position = end }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<end])
    }
}

/// Decodes UTF-8; nil when the bytes are not valid.
///
/// `String(decoding:)` replaces invalid bytes, so equal bytes mean valid ones. This is as fast as the standard
/// library's own check, which older Apple systems do not have.
func exactText(_ bytes: UnsafeRawBufferPointer) -> String? {
    var text = String(decoding: bytes, as: UTF8.self)
    let isExact = text.withUTF8 { decoded in
        guard decoded.count == bytes.count else { return false }
        guard let left = decoded.baseAddress, let right = bytes.baseAddress else { return true }
        return memcmp(left, right, bytes.count) == 0
    }
    return isExact ? text : nil
}
