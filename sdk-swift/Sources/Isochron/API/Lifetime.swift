/// Closes a client that nobody holds any more: neither itself nor anything that was made from it.
final class Lifetime: Sendable {
    let driver: Driver

    init(_ driver: Driver) {
        self.driver = driver
    }

    deinit {
        let driver = driver
        Task { @SessionActor in await driver.close() }
    }
}
