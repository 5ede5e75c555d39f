/// Folds updates into a document: the same bytes as on every replica. `docs/updates.md` has the meaning of every
/// operation; `test/vectors` holds it to the TypeScript fold.
public struct Fold: Sendable {
    /// Bytes of JSON text to which updates let a document grow.
    public static let maxBytes = 1 << 20

    /// No document has more bytes for each byte of its stored text, and no operation adds more for each of its own.
    private static let maxBytesPerByte = 6

    private let base: Value?
    /// The document once an update was applied.
    private var document: Raw?
    private var isParsed = false
    /// The base is not a document and still there: null stands for it.
    private var isOpaque = false
    /// At least the size of the document; `size` is exact, once the bound exceeds the limit.
    private var bound: Int
    private var size: Int?

    /// The version that made the present document: the put, the `set` of a whole document, or the first update where
    /// there was none. Nil without a document, and for a write that is not committed.
    public private(set) var origin: Origin?

    /// Begins with a document.
    ///
    /// - Parameters:
    ///   - base: the stored value; nil without one
    ///   - origin: its version, or what made its document
    public init(_ base: Value?, origin: Origin? = nil) {
        self.base = base
        self.origin = base == nil ? nil : origin
        bound = Self.maxBytesPerByte * (base?.byteCount ?? 0)
    }

    /// Applies the next update in the order of versions. Operations that validation refuses have no effect.
    ///
    /// - Parameter at: the update's version; nil before its commit, when `serverTimestamp` stores null
    public mutating func apply(_ update: Update, at version: Origin? = nil) {
        parse()
        bound += Self.maxBytesPerByte * update.operations.utf8.count
        for operation in (try? Operation.parse(update.operations)) ?? [] { perform(operation, version) }
    }

    /// The document, the base if it is no document and no operation replaced it, or nil without a document.
    public var result: Value? {
        if isOpaque || !isParsed { return base }
        return document.map { .json($0.documentText) }
    }

    private mutating func parse() {
        guard !isParsed else { return }
        isParsed = true
        document = base.flatMap(Raw.document(of:))
        if base != nil, document == nil { (isOpaque, document) = (true, .null) }
    }

    private mutating func perform(_ operation: Operation, _ version: Origin?) {
        let (before, wasAbsent) = (bound > Self.maxBytes ? document : nil, document == nil)
        guard change(&document, operation.names[...], { operation.edit(&$0, version) }) else { return }
        if operation.isWhole {
            size = nil
        } else if !fits(before) {
            document = before
            return
        }
        isOpaque = false
        if document == nil {
            origin = nil
        } else if wasAbsent || operation.isWhole {
            origin = version
        }
    }

    /// Whether the document is within the limit, or not larger than before.
    private mutating func fits(_ before: Raw?) -> Bool {
        guard bound > Self.maxBytes else { return true }
        let was = size ?? (isOpaque ? 0 : sizeOf(before))
        let now = sizeOf(document)
        let fits = now <= max(Self.maxBytes, was)
        size = fits ? now : was
        return fits
    }

    private func sizeOf(_ document: Raw?) -> Int { document?.documentText.utf8.count ?? 0 }
}

/// Changes the value at the end of a path; nil stands for an absent one. Returns whether it had an effect.
private func change(_ value: inout Raw?, _ names: ArraySlice<String>, _ edit: (inout Raw?) -> Bool) -> Bool {
    guard let name = names.first else { return edit(&value) }
    let rest = names.dropFirst()
    switch value {
    case .array(var items)?:
        guard let at = arrayIndex(name), items.indices.contains(at) else { return false }
        // Moved out, so that it is changed in place and not copied.
        value = nil
        var item: Raw? = items[at]
        items[at] = .null
        let hasChanged = change(&item, rest, edit)
        if let item { items[at] = item } else { items.remove(at: at) }
        value = .array(items)
        return hasChanged
    case .object(var members)?:
        value = nil
        let hasChanged = members.change(name) { change(&$0, rest, edit) }
        value = .object(members)
        return hasChanged
    default:
        var members = Raw.Members()
        guard members.change(name, { change(&$0, rest, edit) }) else { return false }
        value = .object(members)
        return true
    }
}

extension Operation {
    /// Returns whether it has an effect.
    fileprivate func edit(_ value: inout Raw?, _ version: Origin?) -> Bool {
        switch kind {
        case .set: value = operand
        case .remove:
            if value == nil { return false }
            value = nil
        case .initialize:
            if value != nil { return false }
            value = operand
        case .mergePatch: value = .merged(value, operand)
        case .serverTimestamp: value = version.map { .number(wholeWallMs(of: $0.ts)) } ?? .null
        case .increment, .max, .min:
            guard let number = combined(value) else { return false }
            value = .number(number)
        case .arrayUnion, .append: extend(&value)
        case .arrayRemove:
            if value == nil { return false }
            let removed = Set(items.map { ExactString($0.canonicalText) })
            value = .array(value.arrayItems.filter { !removed.contains(ExactString($0.canonicalText)) })
        }
        return true
    }

    /// The number with that of the operation; nil for a sum that has no effect.
    private func combined(_ value: Raw?) -> Double? {
        guard case .number(let before)? = value else { return number }
        switch kind {
        case .max: return Swift.max(before, number)
        case .min: return Swift.min(before, number)
        default:
            return Self.sum(before, number)
        }
    }

    /// Nil for a sum beyond the range of doubles, or of a counter that would leave the whole numbers up to 2^53.
    private static func sum(_ before: Double, _ number: Double) -> Double? {
        let sum = before + number
        if isOfCounter(before), isOfCounter(number) { return isOfCounter(sum) ? sum : nil }
        return sum.isFinite ? sum : nil
    }

    private static func isOfCounter(_ number: Double) -> Bool { Raw.number(number).exactInteger != nil }

    private func extend(_ value: inout Raw?) {
        var all = value.arrayItems
        value = nil
        if kind == .append {
            all += items
        } else {
            var present = Set(all.map { ExactString($0.canonicalText) })
            all += items.filter { present.insert(ExactString($0.canonicalText)).inserted }
        }
        value = .array(all)
    }
}

extension Raw? {
    fileprivate var arrayItems: [Raw] {
        if case .array(let items)? = self { return items }
        return []
    }
}

private func wholeWallMs(of ts: Timestamp) -> Double { Double(hlcEpochMs + ts / hlcTicksPerMs) }
