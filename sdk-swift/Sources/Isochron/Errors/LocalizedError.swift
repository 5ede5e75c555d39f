import Foundation

extension IsochronError: LocalizedError {
    /// Code and message, for `localizedDescription`.
    public var errorDescription: String? { description }
}
