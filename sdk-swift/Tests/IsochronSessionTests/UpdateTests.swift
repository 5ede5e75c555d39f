import IsochronSession
import XCTest

/// Own updates in a session of PaRiS (F5). The vectors compare the fold itself.
final class UpdateTests: XCTestCase {
    private let increment = Update(operations: #"[{"op":"increment","path":"/n","by":1}]"#)
    private let key = "default/a"

    private func session() -> Session { Session(id: String(repeating: "a", count: 22), rules: .paris) }

    /// Commits one write at `ts`.
    private func commit(_ content: Content, at ts: Timestamp, in session: inout Session) throws {
        var tx = session.begin()
        tx.write(key, content)
        _ = try session.commit(tx)
        try session.committed(Snapshot(ts: ts))
    }

    private func begin(_ session: inout Session, at ts: Timestamp) throws -> SessionTransaction {
        var tx = session.begin()
        try session.started(&tx, Snapshot(ts: ts))
        return tx
    }

    func testAnUpdateIsLaidOverTheDocumentOfTheNode() throws {
        var session = session()
        try commit(.update(increment), at: 7, in: &session)
        try commit(.update(increment), at: 8, in: &session)
        var tx = try begin(&session, at: 5)
        XCTAssertNil(tx.lookup(key))
        let read = tx.record(key, ServedVersion(ts: 3, value: .json(#"{"n":40}"#)))
        XCTAssertEqual(read, ReadResult(value: .json(#"{"n":42}"#), ts: 8))
        XCTAssertEqual(tx.lookup(key), read)
    }

    func testAnUpdateThatTheSnapshotContainsIsNotLaidOverItAgain() throws {
        var session = session()
        try commit(.update(increment), at: 7, in: &session)
        try commit(.update(increment), at: 9, in: &session)
        var tx = try begin(&session, at: 7)
        let read = tx.record(key, ServedVersion(ts: 7, value: .json(#"{"n":1}"#)))
        XCTAssertEqual(read, ReadResult(value: .json(#"{"n":2}"#), ts: 9))
    }

    func testSeveralUpdatesOfATransactionAreOneWrite() throws {
        var session = session()
        var tx = session.begin()
        tx.write(key, .json(#"{"n":1}"#))
        tx.write(key, .update(increment))
        tx.write(key, .update(increment))
        XCTAssertEqual(tx.writes.count, 1)
        XCTAssertNil(tx.lookup(key))
        XCTAssertEqual(tx.record(key, nil), ReadResult(value: .json(#"{"n":3}"#), ts: nil))
    }

    func testAPutNeedsNoDocumentBelowTheUpdatesAfterIt() throws {
        var session = session()
        try commit(.put(.json(#"{"n":1}"#)), at: 7, in: &session)
        try commit(.update(increment), at: 8, in: &session)
        let tx = try begin(&session, at: 5)
        XCTAssertEqual(tx.lookup(key), ReadResult(value: .json(#"{"n":2}"#), ts: 8))
    }

    func testAnExportedSessionKeepsItsUpdatesInTheirOrder() throws {
        var session = session()
        try commit(.update(increment), at: 7, in: &session)
        try commit(.update(Update(operations: #"[{"op":"max","path":"/n","value":10}]"#)), at: 8, in: &session)
        var other = Session(id: String(repeating: "b", count: 22), rules: .paris, state: session.export())
        var tx = try begin(&other, at: 5)
        XCTAssertEqual(tx.record(key, nil).value, .json(#"{"n":10}"#))
    }
}
