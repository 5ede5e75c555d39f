@testable import Isochron

/// The entries of a message.
func read(_ message: [UInt8]) throws -> [Entry] {
    var reader = try EntryReader(message)
    var entries: [Entry] = []
    while let entry = try reader.next() { entries.append(entry) }
    return entries
}

/// A message of entries, as a peer may send it.
func message(of entries: [Entry]) -> [UInt8] {
    var writer = EntryWriter()
    for entry in entries {
        switch entry.content {
        case .open(let subprotocol): writer.open(entry.channel, subprotocol)
        case .part(let payload): writer.data(.part, entry.channel, payload)
        case .text(let payload): writer.data(.text, entry.channel, payload)
        case .bytes(let payload): writer.data(.bytes, entry.channel, payload)
        case .close(let code, let reason): writer.close(entry.channel, code, reason)
        case .credit(let bytes): writer.credit(entry.channel, bytes)
        }
    }
    return writer.take()
}
