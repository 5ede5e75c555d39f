/// Closes a client when neither the client nor an object made from it is referenced any more.
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
