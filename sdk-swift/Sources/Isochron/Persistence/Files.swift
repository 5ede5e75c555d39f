import Foundation

/// Files by descriptor, because only a descriptor can be forced to the disk.
enum Files {
    private static let private600: mode_t = 0o600

    /// The bytes of a file; nil without a file.
    static func read(_ path: String, atMost limit: Int) throws -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        if file < 0 {
            if errno == ENOENT { return nil }
            throw failure("open", path)
        }
        defer { _ = close(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 * 1024)
        while bytes.count <= limit {
            let count = part.withUnsafeMutableBytes { Foundation.read(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0 { throw failure("read", path) }
            if count == 0 { return bytes }
            bytes.append(contentsOf: part.prefix(count))
        }
        throw IsochronError(.storageFailed, "\(path) is larger than any session", retryable: false)
    }

    /// Replaces a file: afterwards it has all the bytes, or, if this throws, its old contents.
    static func replace(_ path: String, with bytes: [UInt8]) throws {
        let draft = "\(path).\(getpid()).new"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, private600)
        if file < 0 { throw failure("create", draft) }
        do {
            defer { _ = close(file) }
            // An older draft may have other permissions.
            if fchmod(file, private600) != 0 { throw failure("protect", draft) }
            try write(bytes, file, draft)
            if fsync(file) != 0 { throw failure("sync", draft) }
        } catch {
            _ = unlink(draft)
            throw error
        }
        if rename(draft, path) != 0 { throw failure("rename", draft) }
        syncFolder(of: path)
    }

    static func remove(_ path: String) throws {
        if unlink(path) != 0, errno != ENOENT { throw failure("remove", path) }
    }

    private static func write(_ bytes: [UInt8], _ file: Int32, _ path: String) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { throw failure("write", path) }
            rest = rest.dropFirst(count)
        }
    }

    /// Some file systems cannot do this: then a power failure may lose the new name, but an end of the app does not.
    private static func syncFolder(of path: String) {
        let folder = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        if folder < 0 { return }
        _ = fsync(folder)
        _ = close(folder)
    }

    private static func failure(_ what: String, _ path: String) -> IsochronError {
        let why = String(cString: strerror(errno))
        return IsochronError(.storageFailed, "cannot \(what) \(path): \(why)")
    }
}
