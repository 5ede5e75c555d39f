/// Makes a client's frames: whole messages, each with a mask of its own (RFC 6455 section 5.3).
struct FrameEncoder<Random: RandomNumberGenerator> {
    private var random: Random
    /// Random bits for the next mask: one call of the system's generator gives two masks.
    private var spare: UInt32?

    init(random: Random) {
        self.random = random
    }

    /// Appends a message as one frame.
    mutating func append(_ message: WebSocketMessage, to out: inout [UInt8]) {
        switch message {
        case .text(let text): append(.text, text.utf8, to: &out)
        case .binary(let bytes): append(.binary, bytes, to: &out)
        }
    }

    /// Appends one unfragmented frame.
    mutating func append(_ opcode: Opcode, _ payload: some Collection<UInt8>, to out: inout [UInt8]) {
        let mask = nextMask()
        appendHeader(opcode, length: payload.count, mask: mask, to: &out)
        let start = out.count
        out.append(contentsOf: payload)
        out.withUnsafeMutableBytes { applyMask(mask, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...])) }
    }

    private mutating func nextMask() -> UInt32 {
        if let mask = spare {
            spare = nil
            return mask
        }
        let bits = random.next()
        spare = UInt32(truncatingIfNeeded: bits >> 32)
        return UInt32(truncatingIfNeeded: bits)
    }
}

private func appendHeader(_ opcode: Opcode, length: Int, mask: UInt32, to out: inout [UInt8]) {
    out.append(0x80 | opcode.rawValue)
    switch length {
    case ..<126: out.append(0x80 | UInt8(length))
    case ..<65_536:
        out.append(0x80 | 126)
        appendBigEndian(UInt16(length), to: &out)
    default:
        out.append(0x80 | 127)
        appendBigEndian(UInt64(length), to: &out)
    }
    // Its lowest byte goes first, as `applyMask` uses it.
    appendBigEndian(mask.byteSwapped, to: &out)
}

private func appendBigEndian(_ number: some FixedWidthInteger, to out: inout [UInt8]) {
    withUnsafeBytes(of: number.bigEndian) { out.append(contentsOf: $0) }
}

/// XORs bytes with a mask, lowest byte of the mask first: eight at a time, then the rest.
func applyMask(_ mask: UInt32, to bytes: UnsafeMutableRawBufferPointer) {
    let wide = (UInt64(mask) << 32 | UInt64(mask)).littleEndian
    let whole = bytes.count & ~7
    for offset in stride(from: 0, to: whole, by: 8) {
        let masked = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ wide
        bytes.storeBytes(of: masked, toByteOffset: offset, as: UInt64.self)
    }
    for offset in whole..<bytes.count {
        bytes[offset] ^= UInt8(truncatingIfNeeded: mask >> (8 * UInt32(offset & 3)))
    }
}
