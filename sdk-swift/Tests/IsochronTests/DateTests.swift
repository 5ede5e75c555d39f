import Foundation
import XCTest

@testable import Isochron

/// Dates in documents, as clients in other languages read and write them.
final class DateTests: XCTestCase {
    private struct Event: Codable, Equatable {
        var at: Date
    }

    private func text(of date: Date) throws -> String {
        guard case .json(let text) = try DocumentCoding().encode(Event(at: date), .standard) else { return "bytes" }
        return text
    }

    func testDatesAreISO8601InUTCWithMillisecondsAsJavaScriptWritesThem() throws {
        let dates = [
            (0.0, "1970-01-01T00:00:00.000Z"), (1_740_830_400.25, "2025-03-01T12:00:00.250Z"),
            (1_740_830_400.123, "2025-03-01T12:00:00.123Z"), (1_740_830_399.9996, "2025-03-01T12:00:00.000Z"),
            (-0.001, "1969-12-31T23:59:59.999Z"), (-12_219_379_200, "1582-10-14T00:00:00.000Z"),
            (-62_135_596_800, "0001-01-01T00:00:00.000Z"),
            (253_402_300_799.999, "9999-12-31T23:59:59.999Z"),
        ]
        for (seconds, written) in dates {
            XCTAssertEqual(try text(of: Date(timeIntervalSince1970: seconds)), "{\"at\":\"\(written)\"}")
            let read = try DocumentCoding().decode(.json("{\"at\":\"\(written)\"}"), as: Event.self)
            XCTAssertEqual(try XCTUnwrap(read).at.timeIntervalSince1970, seconds, accuracy: 0.000_5)
        }
    }

    func testEveryMillisecondOfASecondIsReadAsItWasWritten() throws {
        for milliseconds in 0..<1000 {
            let date = Date(timeIntervalSince1970: 1_740_830_400 + Double(milliseconds) / 1000)
            let written = try text(of: date)
            let read = try DocumentCoding().decode(.json(written), as: Event.self)
            XCTAssertEqual(try text(of: XCTUnwrap(read).at), written)
            XCTAssertEqual(try XCTUnwrap(read).at.timeIntervalSince(date), 0, accuracy: 0.000_001)
        }
    }

    func testDatesAreReadWithoutPartsOfASecondAndWithAnOffset() throws {
        for written in ["2025-03-01T12:00:00Z", "2025-03-01T12:00:00.000Z", "2025-03-01T14:00:00+02:00"] {
            let read = try DocumentCoding().decode(.json("{\"at\":\"\(written)\"}"), as: Event.self)
            XCTAssertEqual(read, Event(at: Date(timeIntervalSince1970: 1_740_830_400)), written)
        }
    }

    func testAnInvalidDateIsValueInvalid() {
        for wrong in ["762523200", "\"yesterday\"", "\"\"", "null"] {
            XCTAssertThrowsError(try DocumentCoding().decode(.json("{\"at\":\(wrong)}"), as: Event.self)) {
                XCTAssertEqual(($0 as? IsochronError)?.code, .valueInvalid, wrong)
            }
        }
        for wrong in [Double.nan, .infinity, 1e300, 253_402_300_800] {
            XCTAssertThrowsError(try text(of: Date(timeIntervalSince1970: wrong))) {
                XCTAssertEqual(($0 as? IsochronError)?.code, .valueInvalid, "\(wrong)")
            }
        }
    }

    func testTheCodersOfAnAppUseTheirOwnDateStrategies() throws {
        let seconds: @Sendable () -> JSONEncoder = {
            let encoder = ISODates.encoder()
            encoder.dateEncodingStrategy = .secondsSince1970
            return encoder
        }
        let written = try DocumentCoding(encoder: seconds).encode(Event(at: Date(timeIntervalSince1970: 7)), .standard)
        XCTAssertEqual(written, .json("{\"at\":7}"))
    }
}
