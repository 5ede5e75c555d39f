import Foundation
import XCTest

/// The endpoints of `ISOCHRON_CLUSTER`, one of each region. Skips the test without it.
func clusterEndpoints() throws -> [String] {
    guard let list = ProcessInfo.processInfo.environment["ISOCHRON_CLUSTER"], !list.isEmpty else {
        throw XCTSkip("no ISOCHRON_CLUSTER: name the endpoints of a cluster, with commas between them")
    }
    return list.split(separator: ",").map(String.init)
}
