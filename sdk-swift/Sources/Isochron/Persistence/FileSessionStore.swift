import Foundation
import IsochronSession

/// Keeps the session in one file that only its owner may read, because it contains the session's token.
///
/// A save writes a new file, forces it to the disk, and renames it over the old one: whenever the app or the device
/// stops, the file holds a whole session. A damaged file makes `connect` throw TOKEN_INVALID. The store never begins a
/// new session by itself, because that would silently drop writes; ``remove()`` does.
public struct FileSessionStore: SessionStore {
    /// A larger file is not a session.
    private static let maxBytes = 256 * 1024 * 1024

    /// The file.
    public let url: URL

    /// - Parameter url: a file URL; its folder has to exist when the session is saved
    public init(url: URL) {
        self.url = url
    }

    /// The saved session; nil without a file. Throws TOKEN_INVALID for a damaged file, STORAGE_FAILED if it cannot be
    /// read.
    public func load() async throws -> ExportedSession? {
        let path = url.path
        guard let bytes = try await offActor({ try Files.read(path, atMost: Self.maxBytes) }) else { return nil }
        guard let text = String(bytes: bytes, encoding: .utf8) else {
            throw IsochronError.invalidSession("\(path) is not text")
        }
        return try ExportedSession(json: text)
    }

    /// Replaces the file. Throws STORAGE_FAILED.
    public func save(_ session: ExportedSession) async throws {
        let path = url.path
        let bytes = Array(session.json.utf8)
        try await offActor { try Files.replace(path, with: bytes) }
    }

    /// Removes the file: the next `connect` begins a new session. Throws STORAGE_FAILED.
    public func remove() async throws {
        let path = url.path
        try await offActor { try Files.remove(path) }
    }

    /// Disks may be slow, and the thread pool of tasks is small.
    private func offActor<Output: Sendable>(_ body: @escaping @Sendable () throws -> Output) async throws -> Output {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(with: Result(catching: body))
            }
        }
    }
}
