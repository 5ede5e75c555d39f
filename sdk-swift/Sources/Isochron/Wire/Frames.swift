import IsochronSession

/// A frame of a server, validated.
enum Incoming: Sendable {
    case welcome(Welcome)
    case answer(Answer)
    case error(ErrorFrame)
    case ust(UstFrame)
    case goaway(GoawayFrame)
}

/// An answer to a request.
struct Answer: Sendable {
    let id: Int64
    /// A newer session token.
    let token: String?
    let body: Body
}

extension Incoming {
    /// The frames of a message: one, or a list of them. Throws FRAME_INVALID.
    static func frames(of message: WebSocketMessage) throws -> [Raw] {
        guard case .text(let text) = message else { throw IsochronError.malformed("bytes where text was agreed on") }
        let raw: Raw
        do {
            raw = try JSONReader.read(text)
        } catch {
            let message = "the server sent a message that cannot be decoded"
            throw IsochronError(.frameInvalid, message, retryable: true, cause: error)
        }
        guard case .array(let items) = raw else { return [raw] }
        return items
    }

    init(_ raw: Raw) throws {
        let members = try raw.members("body")
        let type = try members.text("type")
        switch type {
        case "welcome": self = .welcome(try Welcome(members))
        case "error": self = .error(try ErrorFrame(members))
        case "ust": self = .ust(try UstFrame(members))
        case "goaway": self = .goaway(try GoawayFrame(members))
        default: self = .answer(try Answer(type, members))
        }
    }
}

extension Answer {
    fileprivate init(_ type: String, _ members: Raw.Members) throws {
        guard let body = try Body(type, members) else {
            throw IsochronError.malformed("a frame of the unknown type \(type.prefix(40).debugDescription)")
        }
        self.init(id: try members.count("id"), token: try members["token"]?.text("token"), body: body)
    }
}

extension Welcome {
    /// Requests that may be in flight.
    var mostInFlight: Int { Int(clamping: max(1, credits)) }
}

extension ErrorFrame {
    var error: IsochronError {
        .ofServer(code: code, detail: detail, retryable: retryable, retryAfterMs: retryAfterMs.map(Double.init))
    }
}

extension Unresponsive {
    /// Every node answers.
    static let nothing = Unresponsive(nodes: [], regions: [])
}

/// A key of a listing, without its keyspace, and its value.
struct ListedEntry: Sendable {
    let key: String
    let value: Value
}
