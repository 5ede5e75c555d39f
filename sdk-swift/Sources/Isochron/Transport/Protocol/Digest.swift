/// SHA-1 of a short input (RFC 3174). The opening handshake requires it; it protects nothing.
func sha1(_ input: [UInt8]) -> [UInt8] {
    var hash: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    let padded = padForSHA1(input)
    for block in stride(from: 0, to: padded.count, by: 64) {
        mixSHA1Block(padded[block..<(block + 64)], into: &hash)
    }
    return hash.flatMap { word in stride(from: 24, through: 0, by: -8).map { UInt8(word >> UInt32($0) & 0xff) } }
}

/// The input, a one bit, zeros, and the length in bits: a multiple of 64 bytes.
private func padForSHA1(_ input: [UInt8]) -> [UInt8] {
    var padded = input
    padded.append(0x80)
    while padded.count % 64 != 56 { padded.append(0) }
    let bits = UInt64(input.count) << 3
    padded.append(contentsOf: stride(from: 56, through: 0, by: -8).map { UInt8(bits >> UInt64($0) & 0xff) })
    return padded
}

private func mixSHA1Block(_ block: ArraySlice<UInt8>, into hash: inout [UInt32]) {
    var words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { at in
        block[at..<(at + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }
    for at in 16..<80 {
        words.append(rotateLeft(words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16], 1))
    }
    var (a, b, c, d, e) = (hash[0], hash[1], hash[2], hash[3], hash[4])
    for (round, word) in words.enumerated() {
        let mixed = rotateLeft(a, 5) &+ sha1Round(round, b, c, d) &+ e &+ word
        (e, d, c, b, a) = (d, c, rotateLeft(b, 30), a, mixed)
    }
    for (at, part) in [a, b, c, d, e].enumerated() { hash[at] &+= part }
}

/// The function and the constant of a round, added.
private func sha1Round(_ round: Int, _ b: UInt32, _ c: UInt32, _ d: UInt32) -> UInt32 {
    switch round {
    case ..<20: return (b & c | ~b & d) &+ 0x5A82_7999
    case ..<40: return (b ^ c ^ d) &+ 0x6ED9_EBA1
    case ..<60: return (b & c | b & d | c & d) &+ 0x8F1B_BCDC
    default: return (b ^ c ^ d) &+ 0xCA62_C1D6
    }
}

private func rotateLeft(_ word: UInt32, _ bits: UInt32) -> UInt32 {
    word << bits | word >> (32 - bits)
}

/// Base64 with padding (RFC 4648 section 4).
func base64(_ input: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var out: [UInt8] = []
    for start in stride(from: 0, to: input.count, by: 3) {
        let group = input[start..<min(start + 3, input.count)]
        let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
        for digit in 0..<4 {
            let isPadding = digit > group.count
            out.append(isPadding ? UInt8(ascii: "=") : alphabet[Int(bits >> UInt32(18 - 6 * digit) & 63)])
        }
    }
    return String(decoding: out, as: UTF8.self)
}
