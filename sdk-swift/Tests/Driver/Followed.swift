import Isochron

/// The values of a key that a loop has taken so far.
actor Followed {
    private var taken: [String?] = []
    private var failure: (any Error)?

    /// The results of a watch of one document.
    init(_ watch: Watch<DocumentResult<String>>) {
        Task {
            await take {
                for try await result in watch { await self.add(try result.value) }
            }
        }
    }

    /// What the transactions of a feed stored under a key.
    init(_ feed: ChangeFeed, key: String) {
        Task {
            await take {
                for try await message in feed {
                    for write in message.transactions.flatMap(\.writes) where write.key == key {
                        await self.add(write.text)
                    }
                }
            }
        }
    }

    /// Throws the error with which the loop has ended.
    var values: [String?] {
        get throws {
            if let failure { throw failure }
            return taken
        }
    }

    private func add(_ value: String?) {
        taken.append(value)
    }

    private func take(_ loop: @Sendable () async throws -> Void) async {
        do {
            try await loop()
        } catch {
            failure = error
        }
    }
}

extension ChangedKey {
    fileprivate var text: String? {
        guard case .stored(.json(.string(let text))) = content else { return nil }
        return text
    }
}
