// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "Isochron",
    platforms: [.iOS(.v16), .macOS(.v13)],
    products: [
        .library(name: "Isochron", targets: ["Isochron"]),
        .library(name: "IsochronSession", targets: ["IsochronSession"]),
        .executable(name: "isochron-demo", targets: ["isochron-demo"]),
    ],
    targets: [
        .target(name: "IsochronSession"),
        .target(
            name: "Isochron",
            dependencies: ["IsochronSession", .target(name: "COpenSSL", condition: .when(platforms: [.linux]))]),
        // TLS on Linux; Apple systems have their own.
        .systemLibrary(
            name: "COpenSSL", pkgConfig: "openssl",
            providers: [.apt(["libssl-dev", "pkgconf"]), .yum(["openssl-devel", "pkgconf"])]),
        .executableTarget(name: "isochron-demo", dependencies: ["Isochron"]),
        // For end-to-end tests and benchmarks: the client under remote control.
        .executableTarget(name: "isochron-driver", dependencies: ["Isochron"], path: "Tests/Driver"),
        .testTarget(name: "IsochronSessionTests", dependencies: ["IsochronSession"]),
        .testTarget(name: "IsochronTransportTests", dependencies: ["Isochron"]),
        .testTarget(name: "IsochronTests", dependencies: ["Isochron", "IsochronSession"]),
    ],
    swiftLanguageModes: [.v6]
)
