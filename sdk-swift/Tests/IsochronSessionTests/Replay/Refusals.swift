import IsochronSession

extension SessionError {
    /// The name of the error in the files.
    var vectorName: String {
        switch self {
        case .snapshotBelowSeen: "snapshotBelowSeen"
        case .snapshotChanged: "snapshotChanged"
        case .commitInFlight: "commitInFlight"
        case .noCommitInFlight: "noCommitInFlight"
        case .operationUnderWay: "operationUnderWay"
        case .noOperationUnderWay: "noOperationUnderWay"
        case .noPutUnderWay: "noPutUnderWay"
        }
    }
}

/// The result of a call, or the files' name of its error.
func outcome<T>(of call: () throws -> T) throws -> (returned: T?, refused: String) {
    do {
        return (try call(), "not")
    } catch let error as SessionError {
        return (nil, error.vectorName)
    }
}
