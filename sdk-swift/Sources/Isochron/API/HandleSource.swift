import IsochronSession

/// Reads, and lends a handle to a listing.
protocol HandleSource: Sendable {
    var lifetime: Lifetime { get }
    /// In order; nil where there is no value. Throws TRANSACTION_FINISHED when there is no handle any more.
    @SessionActor
    func read(_ keys: [QualifiedKey]) async throws -> [Value?]
    /// Throws TRANSACTION_FINISHED when there is none any more.
    @SessionActor
    func borrow() throws -> Handle
    /// The read is over.
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

    /// Writes, unless a write of this id has happened.
    @SessionActor
    func named(_ id: String?, _ write: () async throws -> Committed) async throws -> Write {
        Write(lifetime, try await once(id, in: driver.named, write) { $0 })
    }
}

/// Reads in a scope, whatever from: what all that can be read from does.
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
