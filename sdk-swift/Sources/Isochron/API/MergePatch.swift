import IsochronSession

/// JSON merge patches (RFC 7396).
enum MergePatch {
    /// The value after a patch; an absent value counts as an empty object. Throws VALUE_INVALID for stored bytes,
    /// VALUE_TOO_LARGE.
    static func apply(_ patch: JSONValue, to value: Value?, _ limits: Limits) throws -> Value {
        let merged: Raw
        switch value {
        case .bytes?: throw IsochronError(.valueInvalid, "bytes cannot be patched")
        case .json(let text)?: merged = merge(try DocumentCoding.raw(of: text), Raw(patch))
        case nil: merged = merge(nil, Raw(patch))
        }
        let patched = Value.json(try DocumentCoding.text(of: merged))
        if limits.allows(patched) { return patched }
        throw IsochronError(.valueTooLarge, "a value is above the limit of \(limits.maxValueBytes) bytes")
    }

    /// Members that the patch does not name keep their places.
    private static func merge(_ target: Raw?, _ patch: Raw) -> Raw {
        guard case .object(let changes) = patch else { return patch }
        var members = Raw.Members()
        if case .object(let before)? = target { members = before }
        for change in changes.all {
            if change.value == .null {
                members.remove(change.name)
            } else {
                members.set(change.name, merge(members[change.name], change.value))
            }
        }
        return .object(members)
    }
}
