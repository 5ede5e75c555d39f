import IsochronSession

extension SessionError {
    /// What the files call it.
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

/// What a call returns, or what the files call its refusal.
func outcome<T>(of call: () throws -> T) throws -> (returned: T?, refused: String) {
    do {
        return (try call(), "not")
    } catch let error as SessionError {
        return (nil, error.vectorName)
    }
}
