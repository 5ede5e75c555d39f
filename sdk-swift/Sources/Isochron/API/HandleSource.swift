import IsochronSession

/// Reads, and lends a handle to a listing.
protocol HandleSource: Sendable {
    var lifetime: Lifetime { get }
    /// Values in the order of the keys; nil for an absent key. Throws TRANSACTION_FINISHED after the end of the handle.
    @SessionActor
    func read(_ keys: [QualifiedKey]) async throws -> [Value?]
    /// Throws TRANSACTION_FINISHED after the end of the handle.
    @SessionActor
    func borrow() throws -> Handle
    /// Ends the use of a borrowed handle.
    @SessionActor
    func giveBack(_ handle: Handle)
}

extension HandleSource {
    var driver: Driver { lifetime.driver }
}

/// Every read is a transaction of its own.
struct OneShot: HandleSource {
    let lifetime: Lifetime

    @SessionActor
    func read(_ keys: [QualifiedKey]) async throws -> [Value?] {
        try await driver.read(nil, keys)
    }

    @SessionActor
    func borrow() throws -> Handle {
        try driver.begin(driver.core.can("snapshots") ? .snapshot : .oneShot)
    }

    @SessionActor
    func giveBack(_ handle: Handle) {
        driver.end(handle)
    }

    @SessionActor
    func write(_ key: QualifiedKey, _ value: Value?, id: String?) async throws -> Write {
        try TransactionState.checkOutside(lifetime)
        return try await named(id) { try await driver.write(key, value) }
    }

    @SessionActor
    func update(_ key: QualifiedKey, _ update: Update, id: String?) async throws -> Write {
        try TransactionState.checkOutside(lifetime)
        return try await named(id) { try await driver.update(key, update) }
    }

    /// Writes, unless a write of this id has committed.
    @SessionActor
    func named(_ id: String?, _ write: () async throws -> Committed) async throws -> Write {
        Write(lifetime, try await once(id, in: driver.named, write) { $0 })
    }
}

/// Reads in a scope, from any source: shared by all types with reads.
struct Reader: Sendable {
    let source: any HandleSource
    let scope: Scope

    private var driver: Driver { source.driver }

    func get<T: Decodable & Sendable>(_ key: String, as type: T.Type) async throws -> T? {
        let keys = [try scope.key(key, driver.limits.get())]
        let values = try await source.read(keys)
        return try driver.documents.decode(values.first ?? nil, as: type)
    }

    func getMany<T: Decodable & Sendable>(_ keys: [String], as type: T.Type) async throws -> [T?] {
        let qualified = try scope.keys(keys, driver.limits.get())
        if qualified.isEmpty { return [] }
        return try await source.read(qualified).map { try driver.documents.decode($0, as: type) }
    }

    func list<T: Decodable & Sendable>(_ options: ListOptions, as type: T.Type) -> Listing<T> {
        Listing(reader: self, options: options)
    }
}
