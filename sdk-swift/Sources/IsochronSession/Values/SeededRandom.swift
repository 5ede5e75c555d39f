/// A seeded source of randomness (sfc32). The same seed gives the same sequence everywhere, in every language of
/// Isochron.
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var a: UInt32
    private var b: UInt32
    private var c: UInt32 = 0x9e37_79b9
    private var counter: UInt32 = 1

    /// - Parameter seed: determines the sequence; seeds below 2^53 are shared with JavaScript.
    public init(seed: UInt64) {
        a = UInt32(truncatingIfNeeded: seed)
        b = UInt32(truncatingIfNeeded: seed >> 32)
        for _ in 0..<12 { _ = uint32() }
    }

    /// A uniform unsigned 32-bit integer.
    public mutating func uint32() -> UInt32 {
        let result = a &+ b &+ counter
        counter &+= 1
        a = b ^ (b >> 9)
        b = c &+ (c << 3)
        c = (c << 21 | c >> 11) &+ result
        return result
    }

    /// Two results of ``uint32()``, the first in the upper bits.
    public mutating func next() -> UInt64 {
        let high = UInt64(uint32())
        return high << 32 | UInt64(uint32())
    }

    /// Uniform in `0 ..< 1`.
    public mutating func float() -> Double {
        let high = Double(uint32()) * 2_097_152
        return (high + Double(uint32() >> 11)) / 9_007_199_254_740_992
    }
}
