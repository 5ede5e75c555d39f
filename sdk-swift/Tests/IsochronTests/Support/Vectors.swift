import Foundation
import IsochronSession

@testable import Isochron

/// A file of vectors, from the folder in `ISOCHRON_VECTORS`, or the output folder of `test/vectors`.
func vectors(_ name: String) throws -> Raw.Members {
    let named = ProcessInfo.processInfo.environment["ISOCHRON_VECTORS"].map { URL(fileURLWithPath: $0) }
    var package = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { package.deleteLastPathComponent() }
    let folder = named ?? package.appendingPathComponent(".vectors")
    let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    return try JSONReader.read(text).members(name)
}

extension Raw.Members {
    /// A list that has to be present.
    func items(_ name: String) throws -> [Raw] { try required(name).items(name) }
}
