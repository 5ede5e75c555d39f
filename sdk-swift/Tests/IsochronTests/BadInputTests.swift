import Foundation
import IsochronSession
import XCTest

@testable import Isochron

/// Any input from the network ends in a typed error or costs the connection: it causes no trap, and no call without an
/// end.
final class BadInputTests: XCTestCase, @unchecked Sendable {
    private static let deep = String(repeating: "[", count: 100_000)

    private static let messages = [
        "not json", "", "[]]", "7", "null", "{}", "[", "{\"type\"", "\"\\ud800\"", "[null]", deep,
        #"{"type":7}"#, #"{"type":"nonsense"}"#, #"{"type":"__proto__"}"#, #"{"type":"values","id":1}"#,
        #"{"type":"values","id":99,"snapshot":1,"values":[]}"#, #"{"type":"ust","ust":-1}"#, #"{"type":"goaway"}"#,
        #"{"type":"error","id":"x","code":"A","detail":"b"}"#, #"{"type":"error","id":1,"detail":"no code"}"#,
        #"{"type":"error","code":"OVERLOADED","detail":"the connection","retryable":true}"#,
        #"{"type":"welcome"}"#, #"{"type":"pong","id":1e300}"#, #"{"type":"pong","id":99999999999999999999}"#,
        #"{"type":"pong","id":-1}"#, #"{"type":"goaway","reason":"x","delayMs":9e99}"#,
        #"{"type":"ust","ust":9007199254740992,"freshness":{"now":1,"stalenessMs":0,"stale":false,"heldBackBy":null}}"#,
        #"{"type":"ust","ust":5000,"freshness":{"now":-1,"stalenessMs":0,"stale":false,"heldBackBy":null}}"#,
        #"{"type":"ust","ust":5000,"freshness":{"now":1,"stalenessMs":"long","stale":false,"heldBackBy":null}}"#,
        #"{"type":"ust","ust":5000,"freshness":{"now":1,"stalenessMs":0,"stale":false,"heldBackBy":7}}"#,
        #"{"type":"ust","ust":5000,"freshness":{"now":1,"stalenessMs":0,"stale":false,"heldBackBy":{"region":7}}}"#,
        ust(unresponsive: "null"), ust(unresponsive: "[]"), ust(unresponsive: #"{"nodes":[]}"#),
        ust(unresponsive: #"{"nodes":[],"regions":"oregon"}"#), ust(unresponsive: #"{"nodes":[7],"regions":[]}"#),
        ust(unresponsive: #"{"nodes":[],"regions":[7]}"#),
    ]

    /// A valid frame, except for its list of unresponsive nodes.
    private static func ust(unresponsive: String) -> String {
        let freshness = #"{"now":1,"stalenessMs":0,"stale":false,"heldBackBy":null}"#
        return #"{"type":"ust","ust":5000,"freshness":\#(freshness),"unresponsive":\#(unresponsive)}"#
    }

    @SessionActor
    func testADamagedMessageClosesTheConnectionAndHasNoOtherEffect() async throws {
        for message in Self.messages {
            try await costsTheConnection(.text(message))
        }
        try await costsTheConnection(.binary([0x80]))
    }

    @SessionActor
    private func costsTheConnection(_ message: WebSocketMessage) async throws {
        let world = World()
        let node = world.server()
        node.store.seed("default/a", "1")
        let app = try await world.client([node])
        node.push(message)
        try await until("\(message) costs the connection") { node.received("hello").count == 2 }
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
        let ust = await app.currentStatus.ust
        XCTAssertEqual(ust, 1001)
    }

    /// Answers to a read; `ID` stands for its id.
    private static let answers = [
        #"{"type":"values","id":ID,"snapshot":1000,"values":[]}"#,
        #"{"type":"values","id":ID,"snapshot":1000,"values":[[1,"1"],[1,"1"]]}"#,
        #"{"type":"values","id":ID,"snapshot":1000,"values":[[1,5]]}"#,
        #"{"type":"values","id":ID,"snapshot":1000,"values":[[1]]}"#,
        #"{"type":"values","id":ID,"snapshot":1000,"values":[[-1,"1"]]}"#,
        #"{"type":"values","id":ID,"snapshot":1000,"values":[[1,{"bytes":"*"}]]}"#,
        #"{"type":"values","id":ID,"snapshot":1000,"values":{}}"#,
        #"{"type":"values","id":ID,"snapshot":"now","values":[null]}"#,
        #"{"type":"values","id":ID,"snapshot":1000,"deps":7,"values":[null]}"#,
        #"{"type":"values","id":ID,"snapshot":1000,"deps":[1,-1],"values":[null]}"#,
        #"{"type":"values","id":ID,"snapshot":1000,"values":[null],"token":7}"#,
        #"{"type":"pong","id":ID}"#,
        #"{"type":"values","id":ID,"#,
        #"{"type":"error","id":ID,"detail":"a problem without a code","retryable":false}"#,
    ]

    @SessionActor
    func testRepeatedDamagedAnswersEndInFrameInvalid() async throws {
        for answer in Self.answers {
            let world = World()
            let node = world.server()
            let app = try await world.client([node])
            node.script = { frame in
                guard frame.type == "read" else { return .answer }
                return .text(answer.replacingOccurrences(of: "ID", with: "\(frame.id)"))
            }
            let thrown = await code { try await app.get("a", as: Int.self) }
            XCTAssertEqual(thrown, .frameInvalid, answer)
            node.script = { _ in .answer }
            let value = try await app.get("a", as: Int.self)
            XCTAssertNil(value)
        }
    }

    @SessionActor
    func testDamagedAnswersToOtherRequestsEndInFrameInvalid() async throws {
        let damaged: [(type: String, answer: JSONValue, request: @SessionActor (IsochronClient) async throws -> Void)] =
            [
                (
                    "status", ["type": "status", "status": "perhaps", "ts": nil],
                    { _ = try await $0.transactionStatus(txId: "abcdefghijklmnopqrstuv.0") }
                ),
                ("stable", ["type": "stable", "ust": 1], { try await $0.set("s", 1).stable(timeout: .seconds(5)) }),
                (
                    "list", ["type": "listed", "snapshot": 1000, "entries": [["a"]], "next": nil],
                    { _ = try await all($0.list(as: Int.self)) }
                ),
                (
                    "list", ["type": "listed", "snapshot": 1000, "entries": [], "next": ""],
                    { _ = try await all($0.list(as: Int.self)) }
                ),
                ("start", ["type": "started", "snapshot": -1], { _ = try await $0.snapshot() }),
            ]
        for (type, answer, request) in damaged {
            let world = World()
            let node = world.server()
            let app = try await world.client([node])
            node.script = { frame in
                guard frame.type == type, case .object(var members) = answer else { return .answer }
                members["id"] = .integer(frame.id)
                return .frame(.object(members))
            }
            let thrown = await code { try await request(app) }
            XCTAssertEqual(thrown, .frameInvalid, type)
        }
    }

    @SessionActor
    func testDamagedAnswersToSingleOperationsEndInFrameInvalid() async throws {
        let answers: [JSONValue] = [
            ["type": "pong"], ["type": "got", "values": [], "seen": [], "ust": 0],
            ["type": "got", "values": [nil], "seen": [-1], "ust": 0], ["type": "got", "values": [nil], "seen": []],
            ["type": "got", "values": [nil], "seen": [], "ust": 0, "depends": [7]],
        ]
        for answer in answers {
            let world = World()
            let node = world.server {
                $0.protocol = "okapi"
                $0.capabilities = ["operations", "rot"]
            }
            let app = try await world.client([node])
            node.script = { frame in
                guard frame.type == "get", case .object(var members) = answer else { return .answer }
                members["id"] = .integer(frame.id)
                return .frame(.object(members))
            }
            let thrown = await code { try await app.get("a", as: Int.self) }
            XCTAssertEqual(thrown, .frameInvalid)
        }
    }

    @SessionActor
    func testADamagedWelcomeFailsTheConnect() async throws {
        let wrong: [[String: JSONValue]] = [
            ["region": 7], ["ust": -1], ["deps": "x"], ["capabilities": nil], ["credits": "many"], ["limits": [1]],
            ["regions": [["id": "x"]]], ["freshness": nil], ["token": nil], ["hwt": 0.5], ["stable": -1],
        ]
        for welcome in wrong {
            let world = World()
            let node = world.server()
            node.welcome = welcome
            let thrown = await code { try await world.client([node]) }
            XCTAssertEqual(thrown, .connectionLost, "\(welcome)")
        }
        let world = World()
        let node = world.server {
            $0.protocol = "okapi"
            $0.capabilities = ["operations"]
        }
        for seen in [
            7, ["seen": 7, "region": "x"], ["seen": []], ["seen": [], "region": "x", "depends": [["key": "a"]]],
        ]
            as [JSONValue]
        {
            node.seen = seen
            let thrown = await code { try await world.client([node], token: "t") }
            XCTAssertEqual(thrown, .connectionLost)
        }
    }

    @SessionActor
    func testTimeoutsOfAnyLengthAreAccepted() async throws {
        let world = World()
        let node = world.server()
        node.store.seed("default/a", "1")
        let app = try await world.client([node]) {
            $0.connectTimeout = .seconds(Int64.max)
            $0.requestTimeout = .seconds(Int64.max)
            $0.commitTimeout = .seconds(Int64.max)
        }
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
    }

    @SessionActor
    func testAServerThatClosesInMidAnswerIsAskedAgain() async throws {
        let world = World()
        let node = world.server()
        node.store.seed("default/a", "1")
        let app = try await world.client([node])
        node.script = { frame in
            guard frame.type == "read", node.received("read").count == 1 else { return .answer }
            node.push(text: #"[{"type":"values","id":\#(frame.id),"snap"#)
            return .close
        }
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
    }

    @SessionActor
    func testCloseCodesBecomeTheirErrors() async throws {
        let world = World()
        let node = world.server()
        node.script = { _ in
            node.close(code: 4401)
            return .drop
        }
        let expired = await code { try await world.client([node], credentials: "expired") }
        XCTAssertEqual(expired, .unauthenticated)
        node.script = { _ in .answer }
        let app = try await world.client([node])
        node.script = { frame in
            if frame.type == "read" { node.close(code: 4400) }
            return .answer
        }
        let protocolError = await code { try await app.get("a", as: Int.self) }
        XCTAssertEqual(protocolError, .frameInvalid)
    }

    @SessionActor
    func testADocumentOfAnotherTypeIsValueInvalidAndAnInvalidJsonIsFrameInvalid() async throws {
        let world = World()
        let node = world.server()
        node.store.commit(
            "x",
            [
                (key: "default/text", value: "\"text\""), (key: "default/damaged", value: "{"),
                (key: "default/deep", value: .string(String(repeating: "[", count: 5000))),
                (key: "default/bytes", value: ["bytes": "AQI="]), (key: "default/null", value: "null"),
                (key: "default/huge", value: "1e400"), (key: "default/half", value: "[\"a\",1]"),
            ])
        node.store.stabilise()
        let app = try await world.client([node])
        for key in ["text", "bytes", "null", "half"] {
            let other = await code { try await app.get(key, as: Int.self) }
            XCTAssertEqual(other, .valueInvalid, key)
            let many = await code { try await app.getMany([key], as: [String].self) }
            XCTAssertEqual(many, .valueInvalid, key)
        }
        let data = await code { try await app.get("text", as: Data.self) }
        XCTAssertEqual(data, .valueInvalid)
        for key in ["damaged", "deep", "huge"] {
            let typed = await code { try await app.get(key, as: [Int].self) }
            XCTAssertEqual(typed, .frameInvalid, key)
            let any = await code { try await app.get(key, as: JSONValue.self) }
            XCTAssertEqual(any, .frameInvalid, key)
            let patched = await code { try await app.update(key, ["a": 1]) }
            XCTAssertEqual(patched, .frameInvalid, key)
        }
        let listed = try await all(app.list(as: Int.self)).map { entry in
            if case .failure(let error) = entry.result { return "\(entry.key) \(error.code)" }
            return entry.key
        }
        let codes = [
            "bytes VALUE_INVALID", "damaged FRAME_INVALID", "deep FRAME_INVALID", "half VALUE_INVALID",
            "huge FRAME_INVALID", "null VALUE_INVALID", "text VALUE_INVALID",
        ]
        XCTAssertEqual(listed, codes)
    }

    func testDamagedExportedSessionsAreTokenInvalid() {
        let good = ExportedSession(token: "t", ust: 1, hwt: 1).json
        XCTAssertNoThrow(try ExportedSession(json: good))
        let head = #"{"version":1,"token":"t","ust":1,"hwt":1"#
        let id = "abcdefghijklmnopqrstuv.0"
        let damaged = [
            "", "{", "[]", "null", "7", "\"\"", Self.deep, #"{"token":"t","ust":1,"hwt":1,"writes":[]}"#,
            #"{"version":2,"token":"t","ust":1,"hwt":1,"writes":[]}"#, #"{"version":1,"ust":1,"hwt":1,"writes":[]}"#,
            #"{"version":1,"token":"t","ust":-1,"hwt":1,"writes":[]}"#, head + "}", head + #","writes":7}"#,
            head + #","writes":[["k",1]]}"#, head + #","writes":[["k",1,"no id","1"]]}"#,
            head + #","writes":[["k",-1,"\#(id)","1"]]}"#, head + #","writes":[["k",1,"\#(id)",7]]}"#,
            head + #","writes":[["k",1,"\#(id)",{"bytes":"*"}]]}"#, head + #","writes":[],"protocol":7}"#,
            head + #","writes":[],"deps":"x"}"#, head + #","writes":[],"deps":[0.5]}"#,
            head + #","writes":[],"seen":{"seen":7,"region":"r"}}"#, head + #","writes":[],"seen":{"seen":[]}}"#,
        ]
        for text in damaged {
            XCTAssertThrowsError(try ExportedSession(json: text)) { error in
                XCTAssertEqual((error as? IsochronError)?.code, .tokenInvalid, text)
            }
            guard text != Self.deep, (try? JSONReader.read(text)) != nil else { continue }
            XCTAssertThrowsError(try JSONDecoder().decode(ExportedSession.self, from: Data(text.utf8))) { error in
                XCTAssertEqual((error as? IsochronError)?.code, .tokenInvalid, text)
            }
        }
    }
}
