/// Full jitter: a pause uniform between zero and `baseMs * 2^attempt`, at most `capMs`, in milliseconds.
///
/// - Parameter random: a source of uniform numbers in `0 ..< 1`
public func fullJitterMs(_ random: () -> Double, attempt: Int, baseMs: Double, capMs: Double) -> Double {
    let longest = baseMs * Double(sign: .plus, exponent: min(attempt, 30), significand: 1)
    return random() * min(capMs, longest)
}
