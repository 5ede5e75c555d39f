import Foundation
import Testing

@testable import Isochron

private func send(
    _ path: String, method: String = "GET", headers: [(String, String)] = [], body: [UInt8] = [],
    within seconds: Double = 20
) async throws -> HTTPResponse {
    let url = try TestServer.http(path)
    return try await Transports.http.send(
        HTTPRequest(method: method, url: url, headers: headers, body: body, timeoutSeconds: seconds))
}

/// The error of a request that has to fail.
private func failure(_ work: () async throws -> HTTPResponse) async -> TransportError? {
    do {
        let response = try await work()
        Issue.record("there was an answer: \(response.status)")
        return nil
    } catch {
        return error as? TransportError
    }
}

extension Networked {
    /// Requirements on every HTTP transport.
    @Suite("An HTTP transport", .enabled(if: TestServer.isWanted, TestServer.advice))
    struct HTTPSuite {
        @Test("Bodies are echoed unchanged", arguments: [0, 5_000, 1 << 20])
        func bodies(size: Int) async throws {
            let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let response = try await send("/http/echo", method: "POST", body: body)
            #expect(response.status == 200 && response.body == body)
        }

        @Test("200 requests at once are all answered, each with its own answer")
        func manyAtOnce() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let body = Array("request \(number)".utf8)
                        let response = try await send("/http/echo", method: "POST", body: body)
                        #expect(response.body == body)
                    }
                }
                try await group.waitForAll()
            }
        }

        @Test("Method and header fields reach the server", arguments: ["GET", "POST", "PUT", "DELETE", "PATCH"])
        func headers(method: String) async throws {
            struct Seen: Decodable {
                let method: String
                let headers: [String: String]
            }
            let fields = [("Authorization", "Bearer a.b"), ("X-Several", "one"), ("X-Several", "two")]
            let response = try await send("/http/headers", method: method, headers: fields)
            let seen = try JSONDecoder().decode(Seen.self, from: Data(response.body))
            #expect(seen.method == method && seen.headers["authorization"] == "Bearer a.b")
            #expect(seen.headers["x-several"]?.filter { $0 != " " } == "one,two")
        }

        @Test("Any status is an answer, with its body", arguments: [200, 400, 401, 404, 409, 500, 503])
        func statuses(status: Int) async throws {
            let response = try await send("/http/status?status=\(status)")
            #expect(response.status == status && response.body == Array("{\"code\":\"SOME_CODE\"}".utf8))
            #expect(response.headers.contains { $0 == "content-type" && $1 == "application/problem+json" })
        }

        @Test("Neither cookies nor answers are stored")
        func nothingKept() async throws {
            struct Seen: Decodable {
                let count: Int
                let cookie: String
            }
            var counts: [Int] = []
            for _ in 0..<3 {
                let seen = try JSONDecoder().decode(Seen.self, from: Data(try await send("/http/keep").body))
                #expect(seen.cookie == "")
                counts.append(seen.count)
            }
            #expect(counts == [counts[0], counts[0] + 1, counts[0] + 2])
        }

        @Test("A cancelled request ends at once", arguments: ["/http/silent", "/http/endless"])
        func cancellation(path: String) async throws {
            let task = Task { await failure { try await send(path, within: 100) } }
            // The request has to reach the server; a round trip of another request takes long enough.
            _ = try await send("/http/echo")
            task.cancel()
            #expect(await task.value == .cancelled)
        }

        @Test("A request that was cancelled before it began is not sent")
        func cancelledBefore() async throws {
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                return await failure { try await send("/http/silent", within: 100) }
            }
            task.cancel()
            #expect(await task.value == .cancelled)
        }

        @Test("Requests that are cancelled at any moment all end, and leave the transport usable")
        func manyCancelled() async throws {
            let body = [UInt8](repeating: 1, count: 20_000)
            let tasks = (0..<200).map { number in
                Task { try? await send(number % 2 == 0 ? "/http/echo" : "/http/endless", method: "POST", body: body) }
            }
            for (number, task) in tasks.enumerated() {
                for _ in 0..<(number % 20) { await Task.yield() }
                task.cancel()
            }
            for task in tasks {
                if let response = await task.value { #expect(response.body == body) }
            }
            #expect(try await send("/http/echo", method: "POST", body: body).body == body)
        }

        @Test("The timeout covers the whole exchange", arguments: ["/http/silent", "/http/endless"])
        func timeout(path: String) async throws {
            let error = await failure { try await send(path, within: 0.3) }
            guard case .timedOut = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }

        @Test("A dropped connection, a missing listener and an unknown host have errors of their own")
        func failures() async throws {
            let dropped = await failure { try await send("/http/drop") }
            if case .closed = dropped {} else { Issue.record("\(String(describing: dropped))") }
            for url in ["http://127.0.0.1:1/", "http://no-such-host.invalid/"] {
                let error = await failure { try await Transports.http.send(HTTPRequest(url: url)) }
                guard case .unreachable = error else {
                    Issue.record("\(url): \(String(describing: error))")
                    continue
                }
            }
        }

        @Test("An invalid request is refused before it is sent")
        func refused() async throws {
            for url in ["", "x", "ftp://127.0.0.1/", "http://", "http:///x"] {
                let error = await failure { try await Transports.http.send(HTTPRequest(url: url)) }
                guard case .invalidURL = error else {
                    Issue.record("\(url): \(String(describing: error))")
                    continue
                }
            }
            let injected = [("X", "a\r\nY: b")]
            guard case .unsupported = await failure({ try await send("/http/echo", headers: injected) }) else {
                Issue.record("a line break in a header field was sent")
                return
            }
        }
    }
}
