/// One HTTP request.
public struct HTTPRequest: Sendable {
    /// The method, upper case.
    public var method: String
    /// An absolute `http:` or `https:` URL.
    public var url: String
    /// Header fields by name and value.
    public var headers: [(String, String)]
    /// The body; empty for none.
    public var body: [UInt8]
    /// The time for the whole exchange, in seconds.
    public var timeoutSeconds: Double

    /// Creates a request.
    public init(
        method: String = "GET", url: String, headers: [(String, String)] = [], body: [UInt8] = [],
        timeoutSeconds: Double = 10
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeoutSeconds = timeoutSeconds
    }
}

/// The answer to an `HTTPRequest`, of whatever status: only a missing answer is an error.
public struct HTTPResponse: Sendable {
    /// The status code.
    public var status: Int
    /// Header fields by name and value; names in lower case, order not kept.
    public var headers: [(String, String)]
    /// The body, decoded from its transfer and content encodings.
    public var body: [UInt8]

    /// Creates a response.
    public init(status: Int, headers: [(String, String)], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Sends HTTP requests.
public protocol HTTPTransport: Sendable {
    /// Sends a request and waits for the whole response, of any status.
    ///
    /// - Throws: `TransportError` when there is no response; `TransportError.cancelled` when the task was cancelled.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
}
