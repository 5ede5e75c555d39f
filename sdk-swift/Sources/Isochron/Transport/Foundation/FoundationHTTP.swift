import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// HTTP over `URLSession`: no cache, no cookies, no stored credentials.
struct FoundationHTTPTransport: HTTPTransport {
    /// Shared by all clients of the process, so that connections are reused.
    static let shared = FoundationHTTPTransport()

    private let session: URLSession

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCredentialStorage = nil
        configuration.httpMaximumConnectionsPerHost = 16
        session = URLSession(configuration: configuration)
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let exchange = HTTPExchange(try request.foundationRequest(), timeoutSeconds: request.timeoutSeconds)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { exchange.start(on: session, $0) }
        } onCancel: {
            exchange.finish(.failure(.cancelled))
        }
    }
}

/// One request, from its start to the first of answer, failure, timeout and cancellation. The first is the outcome, and
/// the request is stopped, without a wait for `URLSession` to notice.
private final class HTTPExchange: Sendable {
    typealias Outcome = Result<HTTPResponse, TransportError>

    private struct State: Sendable {
        var continuation: CheckedContinuation<HTTPResponse, any Error>?
        var task: URLSessionDataTask?
        var timer: Task<Void, Never>?
        var isFinished = false
    }

    private let request: URLRequest
    private let timeoutSeconds: Double
    private let state = Locked(State())

    init(_ request: URLRequest, timeoutSeconds: Double) {
        self.request = request
        self.timeoutSeconds = timeoutSeconds
    }

    func start(on session: URLSession, _ continuation: CheckedContinuation<HTTPResponse, any Error>) {
        let task = session.dataTask(with: request) { data, response, error in
            self.finish(outcome(data, response, error))
        }
        let timer = startTimer()
        let isFinished = state.change { state in
            guard !state.isFinished else { return true }
            state.continuation = continuation
            state.task = task
            state.timer = timer
            return false
        }
        if isFinished {
            // Cancelled before it began.
            timer.cancel()
            task.cancel()
            continuation.resume(throwing: TransportError.cancelled)
        } else {
            task.resume()
        }
    }

    /// Takes effect once.
    func finish(_ outcome: Outcome) {
        let ended = state.change { state in
            defer { state = State(isFinished: true) }
            return state
        }
        ended.timer?.cancel()
        ended.task?.cancel()
        ended.continuation?.resume(with: outcome)
    }

    private func startTimer() -> Task<Void, Never> {
        let seconds = timeoutSeconds > 0 ? min(timeoutSeconds, 1e6) : 0
        return Task {
            guard (try? await Task.sleep(nanoseconds: UInt64(seconds * 1e9))) != nil else { return }
            self.finish(.failure(.timedOut("no answer within \(seconds) s")))
        }
    }
}

extension HTTPRequest {
    /// - Throws: `TransportError` for a URL or a header field that cannot be sent.
    fileprivate func foundationRequest() throws(TransportError) -> URLRequest {
        guard let url = URL(string: url), let host = url.host, !host.isEmpty else {
            throw .invalidURL("\(self.url) is no URL of a server")
        }
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw .invalidURL("\(self.url) is no HTTP URL")
        }
        guard isToken(method) else { throw .unsupported("\(method) is no HTTP method") }
        var request = URLRequest(url: url)
        request.httpMethod = method
        // Our own timer covers the whole exchange; the session's timer restarts with each byte.
        request.timeoutInterval = max(1, min(timeoutSeconds, 1e6)) + 1
        if !body.isEmpty { request.httpBody = Data(body) }
        for (name, value) in headers {
            guard isToken(name), value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
                throw .unsupported("the header field \(name) cannot be sent")
            }
            request.addValue(value, forHTTPHeaderField: name)
        }
        return request
    }
}

private func outcome(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) -> HTTPExchange.Outcome {
    if let error { return .failure(transportError(error)) }
    guard let response = response as? HTTPURLResponse else { return .failure(.closed("there was no HTTP answer")) }
    let headers = response.allHeaderFields.compactMap { field -> (String, String)? in
        guard let name = field.key as? String, let value = field.value as? String else { return nil }
        return (name.lowercased(), value)
    }
    return .success(HTTPResponse(status: response.statusCode, headers: headers, body: data.map { [UInt8]($0) } ?? []))
}

extension URLError {
    /// Whether a certificate was refused, or TLS could not be agreed on.
    var isTLSFailure: Bool {
        switch code {
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired:
            return true
        default: return false
        }
    }
}

private func transportError(_ error: any Error) -> TransportError {
    let text = error.localizedDescription
    guard let urlError = error as? URLError else { return .unreachable(text) }
    if urlError.isTLSFailure { return .tlsFailed(text) }
    switch urlError.code {
    case .cancelled: return .cancelled
    case .timedOut: return .timedOut(text)
    case .badURL: return .invalidURL(text)
    case .unsupportedURL, .appTransportSecurityRequiresSecureConnection: return .unsupported(text)
    case .dataLengthExceedsMaximum: return .tooLarge(text)
    case .networkConnectionLost, .badServerResponse, .cannotParseResponse, .zeroByteResource: return .closed(text)
    // On Linux a connection that dies in use has no code of its own; one that was never established has.
    case .unknown: return .closed(text)
    default: return .unreachable(text)
    }
}
