import Foundation

extension IsochronError: LocalizedError {
    /// Code and message: what `localizedDescription` says.
    public var errorDescription: String? { description }
}
