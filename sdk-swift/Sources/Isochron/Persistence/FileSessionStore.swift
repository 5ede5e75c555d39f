import Foundation
import IsochronSession

/// Keeps the session in one file, readable by its owner only: the session's token is in it.
///
/// A save writes a new file beside it, forces that to the disk, and puts it in the place of the old one: whenever the
/// app or the device stops, the file holds a whole session. A file that is damaged all the same makes `connect` throw
/// TOKEN_INVALID. It never begins a new session by itself, for that would silently lose sight of writes; ``remove()``
/// does, if that is what the app wants.
public struct FileSessionStore: SessionStore {
    /// Larger files are not sessions.
    private static let maxBytes = 256 * 1024 * 1024

    /// Where the file is.
    public let url: URL

    /// - Parameter url: a file URL; its folder has to exist when the session is saved
    public init(url: URL) {
        self.url = url
    }

    /// The saved session; nil where there is no file. Throws TOKEN_INVALID for a damaged file, STORAGE_FAILED where it
    /// cannot be read.
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

    /// Disks may take long; the threads of tasks are few.
    private func offActor<Output: Sendable>(_ body: @escaping @Sendable () throws -> Output) async throws -> Output {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(with: Result(catching: body))
            }
        }
    }
}
