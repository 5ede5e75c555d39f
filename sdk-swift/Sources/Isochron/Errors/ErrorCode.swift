extension IsochronError {
    /// A stable error code, the same text as in servers and the other SDKs (`SNAPSHOT_TOO_OLD`).
    ///
    /// Programs match on the code, never on the message:
    ///
    /// ```swift
    /// catch let error as IsochronError where error.code == .snapshotTooOld { … }
    /// ```
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text.
        public let rawValue: String

        /// The code of a text. An unknown text makes a value that equals none of the codes below.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The code as text.
        public var description: String { rawValue }

        private static let known = Set(allCases)

        /// Whether the code is in ``allCases``.
        public var isKnown: Bool { Self.known.contains(self) }

        /// Whether the same request may succeed later, unless the error itself overrides it.
        public var isRetryable: Bool { Self.retryable.contains(self) }
    }
}
