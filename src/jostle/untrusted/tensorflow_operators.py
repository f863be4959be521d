"""Operators of TensorFlow that are known to compute and nothing else.

Of the 1,900 that TensorFlow 2.21 registers, those that a model needs to answer: no reading or writing of files, no
network, no Python, no datasets, none of other devices, and none that only training needs.
"""

from __future__ import annotations

PURE = """
    Abs Acos Acosh Add AddN AddV2 AdjustContrast AdjustContrastv2 AdjustHue AdjustSaturation All Angle Any
    ApproxTopK ApproximateEqual ArgMax ArgMin AsString Asin Asinh Atan Atan2 Atanh AvgPool AvgPool3D
    BandedTriangularSolve BatchMatMul BatchMatMulV2 BatchMatMulV3 BatchNormWithGlobalNormalization BatchToSpace
    BatchToSpaceND BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e
    BesselY0 BesselY1 Betainc BiasAdd BiasAddV1 Bincount Bitcast BitwiseAnd BitwiseOr BitwiseXor BlockLSTM
    BlockLSTMV2 BroadcastArgs BroadcastGradientArgs BroadcastTo Bucketize CTCBeamSearchDecoder CTCGreedyDecoder
    CTCLoss CTCLossV2 Cast Ceil Cholesky ClipByValue CombinedNonMaxSuppression Complex ComplexAbs Concat
    ConcatOffset ConcatV2 Conj ConjugateTranspose Const ControlTrigger Conv Conv2D Conv3D Cos Cosh CropAndResize
    Cross Cumprod Cumsum CumulativeLogsumexp DataFormatDimMap DataFormatVecPermute Dawsn DecodeAndCropJpeg
    DecodeBase64 DecodeBmp DecodeCSV DecodeGif DecodeImage DecodeJpeg DecodePaddedRaw DecodePng DecodeRaw
    DecodeWav DecodeWebP DenseBincount DenseCountSparseOutput DenseToDenseSetOperation DenseToSparseSetOperation
    DepthToSpace DepthwiseConv2dNative Dequantize DeserializeManySparse DeserializeSparse Diag DiagPart Digamma
    Dilation2D Div DivNoNan DrawBoundingBoxes DrawBoundingBoxesV2 DynamicPartition DynamicStitch EditDistance
    Eig Einsum Elu EmptyTensorList EmptyTensorMap EnsureShape Enter Equal Erf Erfc Erfinv EuclideanNorm Exit Exp
    ExpandDims Expint Expm1 ExtractGlimpse ExtractGlimpseV2 ExtractImagePatches ExtractJpegShape
    ExtractVolumePatches FFT FFT2D FFT3D FFTND FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars
    FakeQuantWithMinMaxVarsPerChannel Fill Fingerprint Floor FloorDiv FloorMod FractionalAvgPool
    FractionalMaxPool FresnelCos FresnelSin FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 FusedPadConv2D
    FusedResizeAndPadConv2D GRUBlockCell Gather GatherNd GatherV2 Greater GreaterEqual HSVToRGB
    HistogramFixedWidth IFFT IFFT2D IFFT3D IFFTND IRFFT IRFFT2D IRFFT3D IRFFTND Identity IdentityN Igamma
    Igammac Imag ImageProjectiveTransformV2 ImageProjectiveTransformV3 InTopK InTopKV2 Inv Invert
    InvertPermutation IsFinite IsInf IsNan IsotonicRegression KthOrderStatistic L2Loss LRN LSTMBlockCell
    LeakyRelu LeftShift Less LessEqual Lgamma LinSpace ListDiff Log Log1p LogMatrixDeterminant LogSoftmax
    LogicalAnd LogicalNot LogicalOr LoopCond LowerBound Lu MakeUnique MapDefun MatMul MatrixBandPart
    MatrixDeterminant MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3
    MatrixExponential MatrixInverse MatrixLogarithm MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixSolve
    MatrixSolveLs MatrixSquareRoot MatrixTriangularSolve Max MaxPool MaxPool3D MaxPoolV2 MaxPoolWithArgmax
    Maximum Mean Merge Mfcc Min Minimum MirrorPad Mod Mul MulNoNan Ndtri NearestNeighbors Neg NextAfter
    NextIteration NoOp NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4
    NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps NotEqual NthElement OneHot OnesLike Pack Pad PadV2
    ParallelConcat ParallelDynamicStitch ParseExample ParseExampleV2 ParseSequenceExample ParseSequenceExampleV2
    ParseSingleExample ParseSingleSequenceExample ParseTensor PartitionedCall Placeholder PlaceholderV2
    PlaceholderWithDefault Polygamma PopulationCount Pow PreventGradient Prod Qr QuantizeAndDequantize
    QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4 QuantizeDownAndShrinkRange
    QuantizeV2 QuantizedAdd QuantizedAvgPool QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd
    QuantizedConcat QuantizedConcatV2 QuantizedConv2D QuantizedConv2DAndRelu QuantizedConv2DAndReluAndRequantize
    QuantizedConv2DAndRequantize QuantizedConv2DPerChannel QuantizedConv2DWithBias
    QuantizedConv2DWithBiasAndRelu QuantizedConv2DWithBiasAndReluAndRequantize
    QuantizedConv2DWithBiasAndRequantize QuantizedConv2DWithBiasSignedSumAndReluAndRequantize
    QuantizedConv2DWithBiasSumAndRelu QuantizedConv2DWithBiasSumAndReluAndRequantize QuantizedDepthwiseConv2D
    QuantizedDepthwiseConv2DWithBias QuantizedDepthwiseConv2DWithBiasAndRelu
    QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize QuantizedInstanceNorm QuantizedMatMul
    QuantizedMatMulWithBias QuantizedMatMulWithBiasAndDequantize QuantizedMatMulWithBiasAndRelu
    QuantizedMatMulWithBiasAndReluAndRequantize QuantizedMatMulWithBiasAndRequantize QuantizedMaxPool
    QuantizedMul QuantizedRelu QuantizedRelu6 QuantizedReluX QuantizedReshape QuantizedResizeBilinear RFFT
    RFFT2D RFFT3D RFFTND RGBToHSV RaggedBincount RaggedCountSparseOutput RaggedCross RaggedFillEmptyRows
    RaggedGather RaggedRange RaggedTensorToSparse RaggedTensorToTensor RandomIndexShuffle Range Rank Real
    RealDiv Reciprocal ReduceJoin RegexFullMatch RegexReplace Relu Relu6 RequantizationRange
    RequantizationRangePerChannel Requantize RequantizePerChannel Reshape ResizeArea ResizeBicubic
    ResizeBilinear ResizeNearestNeighbor Reverse ReverseSequence ReverseV2 RightShift Rint Roll Round Rsqrt
    ScaleAndTranslate SegmentMax SegmentMaxV2 SegmentMean SegmentMin SegmentMinV2 SegmentProd SegmentProdV2
    SegmentSum SegmentSumV2 Select SelectV2 SelfAdjointEig SelfAdjointEigV2 Selu SerializeManySparse
    SerializeSparse SerializeTensor SetSize Shape ShapeN Sigmoid Sign Sin Sinh Size Slice SobolSample Softmax
    SoftmaxCrossEntropyWithLogits Softplus Softsign SpaceToBatch SpaceToBatchND SpaceToDepth SparseAdd
    SparseBincount SparseConcat SparseCountSparseOutput SparseCross SparseCrossHashed SparseCrossV2
    SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul SparseFillEmptyRows SparseMatMul SparseReduceMax
    SparseReduceMaxSparse SparseReduceSum SparseReduceSumSparse SparseReorder SparseReshape SparseSegmentMean
    SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNWithNumSegments SparseSegmentSum
    SparseSegmentSumWithNumSegments SparseSlice SparseSoftmax SparseSoftmaxCrossEntropyWithLogits
    SparseSparseMaximum SparseSparseMinimum SparseSplit SparseTensorDenseAdd SparseTensorDenseMatMul
    SparseToDense SparseToSparseSetOperation Spence Split SplitV Sqrt Square SquaredDifference Squeeze
    StatelessCase StatelessIf StatelessMultinomial StatelessParameterizedTruncatedNormal StatelessRandomBinomial
    StatelessRandomGammaV2 StatelessRandomGammaV3 StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg
    StatelessRandomNormal StatelessRandomNormalV2 StatelessRandomPoisson StatelessRandomUniform
    StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2 StatelessRandomUniformInt
    StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessSampleDistortedBoundingBox StatelessShuffle
    StatelessTruncatedNormal StatelessTruncatedNormalV2 StatelessWhile StaticRegexFullMatch StaticRegexReplace
    StochasticCastToInt StopGradient StridedSlice StringFormat StringJoin StringLength StringLower StringNGrams
    StringSplit StringSplitV2 StringStrip StringToHashBucket StringToHashBucketFast StringToHashBucketStrong
    StringToNumber StringUpper Sub Substr Sum Svd Switch Tan Tanh TensorListConcat TensorListConcatLists
    TensorListConcatV2 TensorListElementShape TensorListFromTensor TensorListGather TensorListGetItem
    TensorListLength TensorListPopBack TensorListPushBack TensorListPushBackBatch TensorListReserve
    TensorListResize TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem
    TensorListSplit TensorListStack TensorMapErase TensorMapHasKey TensorMapInsert TensorMapLookup TensorMapSize
    TensorMapStackKeys TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate
    TensorStridedSliceUpdate Tile ToBool TopK TopKUnique TopKV2 TopKWithUnique Transpose TridiagonalMatMul
    TridiagonalSolve TruncateDiv TruncateMod UnicodeDecode UnicodeDecodeWithOffsets UnicodeScript
    UnicodeTranscode UniformDequantize UniformQuantize UniformQuantizedAdd UniformQuantizedClipByValue
    UniformQuantizedConvolution UniformQuantizedDot UniformRequantize Unique UniqueV2 UniqueWithCounts
    UniqueWithCountsV2 Unpack UnravelIndex UnsortedSegmentJoin UnsortedSegmentMax UnsortedSegmentMin
    UnsortedSegmentProd UnsortedSegmentSum UpperBound Where Xdivy Xlog1py Xlogy ZerosLike Zeta
"""
# Keep something between steps: variables, tables in memory, random numbers, and calls of functions.
STATEFUL = """
    AnonymousHashTable AnonymousMutableHashTable Assert AssignAddVariableOp AssignSubVariableOp AssignVariableOp
    Case CheckNumerics CheckNumericsV2 DeviceIndex DisableCopyOnRead Empty GuaranteeConst HashTable HashTableV2
    If InitializeTableV2 LookupTableExportV2 LookupTableFindV2 LookupTableImportV2 LookupTableInsertV2
    LookupTableSizeV2 Multinomial MutableDenseHashTableV2 MutableHashTableV2 ParameterizedTruncatedNormal
    RandomGamma RandomPoissonV2 RandomShuffle RandomStandardNormal RandomUniform RandomUniformInt ReadVariableOp
    ResourceGather ResourceGatherNd ResourceScatterAdd ResourceScatterUpdate ResourceStridedSliceAssign
    RngReadAndSkip RngSkip SampleDistortedBoundingBoxV2 StackCloseV2 StackPopV2 StackPushV2 StackV2
    StatefulPartitionedCall StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform
    StatefulUniformFullInt StatefulUniformInt StatelessRandomGetAlg TensorArrayCloseV3 TensorArrayConcatV3
    TensorArrayGatherV3 TensorArrayReadV3 TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3
    TensorArrayV3 TensorArrayWriteV3 TruncatedNormal VarHandleOp VarIsInitializedOp Variable VariableShape
    VariableV2 While
"""
COMPUTING = frozenset((PURE + STATEFUL).split())
