import type { Finding } from './source.js';

const words = (text: string): string[] => text.split(/\s+/).filter(Boolean);

/**
 * Types of Apple's frameworks that apps import beside the SDK: a public name equal to one of them needs its module as a
 * prefix.
 */
const TAKEN: Readonly<Record<string, ReadonlySet<string>>> = {
  SwiftUI: new Set(
    words(`
      AccessibilityActionKind Alert Alignment AlignmentID Anchor Angle AngularGradient Animatable AnimatableModifier
      AnimatablePair AnimatableValues Animation AnimationCompletionCriteria AnimationContext AnimationState AnyGesture
      AnyLayout AnyShape AnyShapeStyle AnyTransition AnyView App AppStorage AsyncImage AsyncImagePhase Axis
      BackgroundStyle BackgroundTask Badge Bindable Binding BlendMode BorderedButtonStyle Button ButtonRole
      ButtonStyle Canvas Capsule Circle Color ColorPicker ColorRenderingMode ColorScheme Commands CommandGroup
      CommandMenu ContainerRelativeShape ContainerValues ContentMode ContentShapeKinds ContentTransition
      ContentUnavailableView ControlGroup ControlSize CoordinateSpace CustomAnimation DatePicker DefaultStyle
      DisclosureGroup DismissAction Divider DocumentConfiguration DocumentGroup DocumentLaunchView DragGesture
      DropInfo DropProposal DynamicProperty DynamicTypeSize DynamicViewContent Edge EdgeInsets EditActions EditButton
      EditMode Ellipse EllipticalGradient EmptyView Entry Environment EnvironmentKey EnvironmentObject
      EnvironmentValues EquatableView EventModifiers ExplicitAlignment FetchRequest FetchedResults FileDocument
      FileDocumentConfiguration FillShapeStyle FillStyle FocusState FocusedBinding FocusedObject FocusedValue
      FocusedValueKey FocusedValues Font ForEach Form FormStyle Gauge GeometryEffect GeometryProxy GeometryReader
      Gesture GestureMask GestureState Glass Gradient GraphicsContext Grid GridItem GridRow Group GroupBox HStack
      HelpLink HierarchicalShapeStyle HorizontalAlignment HoverEffect HoverPhase Image ImagePaint ImageRenderer
      InsettableShape KeyEquivalent KeyPress KeyboardShortcut KeyframeAnimator Keyframes Label LabelStyle
      LabeledContent LayerLayout Layout LayoutDirection LayoutPriority LayoutProperties LayoutSubview LayoutSubviews
      LayoutValueKey LazyHGrid LazyHStack LazyVGrid LazyVStack LinearGradient LinearKeyframe Link List ListFormatStyle
      ListSectionSpacing LocalizedStringKey LongPressGesture MagnifyGesture MatchedGeometryProperties Material Menu
      MenuBarExtra MenuOrder MeshGradient ModifiedContent MoveCommandDirection MoveKeyframe Namespace NavigationLink
      NavigationPath NavigationSplitView NavigationStack NavigationView ObservedObject OffsetShape OpenDocumentAction
      OpenSettingsAction OpenURLAction OpenWindowAction OutlineGroup PasteButton Path Persistence PhaseAnimator
      PhotosPicker Picker PickerStyle PinnedScrollableViews PlainButtonStyle PreferenceKey PresentationDetent
      PresentationMode PreviewProvider PrimitiveButtonStyle ProgressView ProjectionTransform Prominence
      ProposedViewSize Query RadialGradient Rectangle RedactionReasons ReferenceFileDocument RefreshAction
      RenameButton Renderer ResetFocusAction RotateGesture RotatedShape RoundedCornerStyle RoundedRectangle
      SafeAreaRegions ScaledMetric ScaledShape Scene SceneBuilder ScenePhase SceneStorage ScrollGeometry ScrollPhase
      ScrollPosition ScrollTarget ScrollView ScrollViewProxy ScrollViewReader SearchFieldPlacement SearchScopes
      Section SectionedFetchRequest SecureField SensoryFeedback SequenceGesture Settings SettingsLink Shader
      ShaderLibrary Shape ShapeRole ShapeStyle ShareLink SharePreview SimultaneousGesture Slider Spacer
      SpatialTapGesture Spring SpringKeyframe State StateObject Stepper StrokeStyle SubmitLabel SubscriptionView
      Subview SwitchToggleStyle SymbolVariants Tab TabContent TabRole TabSection TabView Table TableColumn TableRow
      TapGesture Text TextEditor TextField TextRenderer TimelineSchedule TimelineView TitleAndIconLabelStyle Toggle
      ToggleStyle ToolbarContent ToolbarItem ToolbarItemGroup ToolbarRole Transaction TransactionKey TransformEffect
      Transition TransitionPhase UIHostingController UnevenRoundedRectangle UnitCurve UnitPoint UserInterfaceSizeClass
      VStack VectorArithmetic VerticalAlignment View ViewBuilder ViewDimensions ViewModifier ViewSpacing ViewThatFits
      Visibility VisualEffect Window WindowGroup WindowStyle Worker ZStack`),
  ),
  StoreKit: new Set(
    words(`
      AdAttributionKit AdNetwork AppStore AppTransaction BackingValue ExternalLinkAccount ExternalPurchase
      ExternalPurchaseLink Message PaymentMethodBinding Product ProductIconPhase ProductView ProductViewStyle
      PurchaseAction PurchaseIntent RenewalInfo RequestReviewAction SKError SKPayment SKPaymentQueue
      SKPaymentTransaction SKProduct SKStorefront StoreContent StoreKitError StoreView Storefront SubscriptionInfo
      SubscriptionOfferView SubscriptionPeriod SubscriptionStatus SubscriptionStoreButton SubscriptionStoreView
      Transaction VerificationResult`),
  ),
};

/** A declaration at the left margin: a name that the module exports. */
const DECLARATION =
  /^public (?:(?:final|indirect|nonisolated) )*(?:struct|class|enum|actor|protocol|typealias|func|let|var|macro) (\w+)/gm;

/** The names that a Swift source makes public, without those inside of types. */
export const publicNames = (text: string): string[] => [...text.matchAll(DECLARATION)].map(([, name]) => name!);

/** Public names that one of Apple's frameworks also has. */
export function swiftNameFindings(path: string, text: string): Finding[] {
  return publicNames(text).flatMap((name) =>
    Object.entries(TAKEN)
      .filter(([, names]) => names.has(name))
      .map(([framework]) => `${path}: ${name} is a name of ${framework}`),
  );
}
