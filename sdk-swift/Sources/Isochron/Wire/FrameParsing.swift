import IsochronSession

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
        let frame = try raw.members("body")
        let type = try frame.text("type")
        switch type {
        case "welcome": self = .welcome(try Welcome(frame))
        case "error": self = .error(try ErrorFrame(frame))
        case "ust": self = .ust(try UstFrame(frame))
        case "goaway": self = .goaway(try GoawayFrame(frame))
        default: self = .answer(try Answer(type, frame))
        }
    }
}

extension Answer {
    fileprivate init(_ type: String, _ frame: Raw.Members) throws {
        guard let body = try Body(type, frame) else {
            throw IsochronError.malformed("a frame of the unknown type \(type.prefix(40).debugDescription)")
        }
        self.init(id: try frame.count("id"), token: try frame["token"]?.text("token"), body: body)
    }
}

extension Answer.Body {
    /// Nil for an unknown type.
    fileprivate init?(_ type: String, _ frame: Raw.Members) throws {
        switch type {
        case "values":
            self = .values(
                try frame.snapshot("snapshot"), try frame.required("values").items("values").map { try $0.version() })
        case "listed":
            self = .listed(
                try frame.snapshot("snapshot"),
                entries: try frame.required("entries").items("entries").map { try $0.listedEntry() },
                next: try frame.required("next").present?.text("next"))
        case "started": self = .started(try frame.snapshot("snapshot"))
        case "committed": self = .committed(try frame.snapshot("ts"))
        case "got": self = .got(frame)
        case "written": self = .written(frame)
        case "origin":
            self = .origin(try frame.required("value").version(), try frame.required("origin").present?.origin())
        case "aborted": self = .aborted
        case "status":
            self = .status(try TransactionStatus.State(frame), try frame.required("ts").present?.timestamp("ts"))
        case "stable": self = .stable(try frame.timestamp("ust"))
        case "pong": self = .pong
        case "authenticated": self = .authenticated(frame)
        case "changes": self = .changes(frame)
        case "live": self = .live(frame)
        default: return nil
        }
    }

    /// Its type, for error messages.
    var name: String {
        switch self {
        case .started: "started"
        case .values: "values"
        case .listed: "listed"
        case .committed: "committed"
        case .got: "got"
        case .written: "written"
        case .origin: "origin"
        case .aborted: "aborted"
        case .status: "status"
        case .stable: "stable"
        case .pong: "pong"
        case .authenticated: "authenticated"
        case .changes: "changes"
        case .live: "live"
        }
    }
}

extension TransactionStatus.State {
    fileprivate init(_ frame: Raw.Members) throws {
        guard let state = Self(rawValue: try frame.text("status")) else {
            throw IsochronError.malformed("a frame whose status is none")
        }
        self = state
    }
}

extension Welcome {
    fileprivate init(_ frame: Raw.Members) throws {
        region = try frame.text("region")
        node = try frame.text("node")
        cluster = try frame.text("cluster")
        `protocol` = try frame.text("protocol")
        capabilities = Set(try frame.required("capabilities").items("capabilities").map { try $0.text("capability") })
        seenSnapshot = try frame.snapshot("ust")
        stable = try frame["stable"]?.timestamp("stable")
        seen = frame["seen"]
        hwt = try frame.timestamp("hwt")
        freshness = try frame.required("freshness").freshness()
        unresponsive = try frame.unresponsive()
        expiresAt = try frame["expiresAt"]?.count("expiresAt")
        token = try frame.text("token")
        credits = Int(clamping: max(1, try frame.count("credits")))
        limits = try frame.required("limits").limits()
        maxTransactionMs = try frame.count("maxTransactionMs")
        stalenessAlertMs = try frame["stalenessAlertMs"]?.count("stalenessAlertMs")
        regions = try frame.required("regions").items("regions").map { try $0.regionEndpoints() }
    }
}

extension ErrorFrame {
    fileprivate init(_ frame: Raw.Members) throws {
        id = try frame["id"]?.present?.count("id")
        error = .ofServer(
            code: try frame.text("code"), detail: try frame.text("detail"),
            retryable: frame["retryable"] == .bool(true),
            retryAfterMs: try frame["retryAfterMs"].map { Double(try $0.count("retryAfterMs")) })
    }
}

extension UstFrame {
    fileprivate init(_ frame: Raw.Members) throws {
        ust = try frame.timestamp("ust")
        freshness = try frame.required("freshness").freshness()
        unresponsive = try frame.unresponsive()
    }
}

extension GoawayFrame {
    fileprivate init(_ frame: Raw.Members) throws {
        reason = try frame.text("reason")
        delayMs = try frame.count("delayMs")
    }
}

extension Got {
    init(_ frame: Raw.Members) throws {
        values = try frame.required("values").items("values").map { try $0.version() }
        seen = try frame.timestamps("seen")
        depends = try frame["depends"]?.dependencies()
        ust = try frame.timestamp("ust")
    }
}

extension Written {
    init(_ frame: Raw.Members) throws {
        ts = try frame.timestamp("ts")
        seen = try Raw.object(frame).wireSeen()
        ust = try frame.timestamp("ust")
    }
}
