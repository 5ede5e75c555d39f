/// A dictionary in insertion order: a key that is set again keeps its place.
///
/// The order of a session's writes is visible in its commits and exports, and makes pruning cheap.
public struct OrderedMap<Key: Hashable & Sendable, Element: Sendable>: Sendable {
    private struct Slot: Sendable {
        let key: Key
        var element: Element
    }

    /// The slot of each key.
    private var places: [Key: Int] = [:]
    /// In order of insertion; nil for a removed key.
    private var slots: [Slot?] = []
    /// No earlier slot is filled.
    private var firstFilled = 0

    /// An empty map.
    public init() {}

    /// Number of keys.
    public var count: Int { places.count }

    /// Whether there are no keys.
    public var isEmpty: Bool { places.isEmpty }

    /// Keys and elements, in order of insertion.
    public var entries: [(key: Key, element: Element)] {
        slots[firstFilled...].compactMap { slot in slot.map { (key: $0.key, element: $0.element) } }
    }

    /// The first entry.
    public var first: (key: Key, element: Element)? {
        guard firstFilled < slots.count, let slot = slots[firstFilled] else { return nil }
        return (key: slot.key, element: slot.element)
    }

    /// Reads or sets the element of a key; nil removes it.
    public subscript(key: Key) -> Element? {
        get { places[key].flatMap { slots[$0]?.element } }
        set {
            if let newValue { set(newValue, at: key) } else { remove(key) }
        }
    }

    private mutating func set(_ element: Element, at key: Key) {
        if let place = places[key] {
            slots[place]?.element = element
        } else {
            places[key] = slots.count
            slots.append(Slot(key: key, element: element))
        }
    }

    private mutating func remove(_ key: Key) {
        guard let place = places.removeValue(forKey: key) else { return }
        slots[place] = nil
        while firstFilled < slots.count, slots[firstFilled] == nil { firstFilled += 1 }
        if slots.count > 32, slots.count > 2 * places.count { close() }
    }

    /// Drops the empty slots before they outnumber the filled ones.
    private mutating func close() {
        slots.removeAll { $0 == nil }
        firstFilled = 0
        for (place, slot) in slots.enumerated() {
            if let slot { places[slot.key] = place }
        }
    }
}
