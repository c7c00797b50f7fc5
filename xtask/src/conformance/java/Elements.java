/** Elements as ndzarr-conformance packs them, in and out of blocks: little endian, dimension 0 fastest; before a text its length. */

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.janelia.saalfeldlab.n5.DataBlock;
import org.janelia.saalfeldlab.n5.DataType;
import org.janelia.saalfeldlab.n5.DatasetAttributes;
import org.janelia.saalfeldlab.n5.StringDataBlock;

final class Elements {
    private final DataType type;

    /** Each element's bytes. */
    private final byte[][] elements;

    private Elements(DataType type, byte[][] elements) {
        this.type = type;
        this.elements = elements;
    }

    static int byteLength(DataType type) {
        switch (type) {
            case INT16: case UINT16: return 2;
            case INT32: case UINT32: case FLOAT32: return 4;
            case INT64: case UINT64: case FLOAT64: return 8;
            default: return 1;
        }
    }

    static Elements of(byte[] packed, DataType type) {
        ByteBuffer bytes = ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN);
        java.util.ArrayList<byte[]> elements = new java.util.ArrayList<>();
        while (bytes.hasRemaining()) {
            byte[] element = new byte[type == DataType.STRING ? bytes.getInt() : byteLength(type)];
            bytes.get(element);
            elements.add(element);
        }
        return new Elements(type, elements.toArray(new byte[0][]));
    }

    /** As many as the dataset has, all the same. */
    static Elements filled(DatasetAttributes dataset, byte[] bigEndian) {
        long count = 1;
        for (long length : dataset.getDimensions())
            count *= length;
        int byteLength = dataset.getDataType() == DataType.STRING ? 0 : byteLength(dataset.getDataType());
        byte[][] elements = new byte[(int) count][byteLength];
        for (byte[] element : elements)
            for (int i = 0; i < byteLength; ++i)
                element[i] = bigEndian[byteLength - 1 - i];
        return new Elements(dataset.getDataType(), elements);
    }

    /** Those of a block. */
    static Elements of(DataBlock<?> block, DataType type) {
        if (type == DataType.STRING) {
            String[] texts = (String[]) block.getData();
            byte[][] elements = new byte[texts.length][];
            for (int i = 0; i < texts.length; ++i)
                elements[i] = texts[i].getBytes(StandardCharsets.UTF_8);
            return new Elements(type, elements);
        }
        ByteBuffer bytes = ByteBuffer.allocate(java.lang.reflect.Array.getLength(block.getData()) * byteLength(type));
        bytes.order(ByteOrder.LITTLE_ENDIAN);
        Object data = block.getData();
        if (data instanceof byte[]) bytes.put((byte[]) data);
        else if (data instanceof short[]) bytes.asShortBuffer().put((short[]) data);
        else if (data instanceof int[]) bytes.asIntBuffer().put((int[]) data);
        else if (data instanceof long[]) bytes.asLongBuffer().put((long[]) data);
        else if (data instanceof float[]) bytes.asFloatBuffer().put((float[]) data);
        else bytes.asDoubleBuffer().put((double[]) data);
        return of(bytes.array(), type);
    }

    byte[] bytes() {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        for (byte[] element : elements) {
            if (type == DataType.STRING)
                packed.writeBytes(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(element.length).array());
            packed.writeBytes(element);
        }
        return packed.toByteArray();
    }

    /** All of them as one block; without a size as an object. */
    @SuppressWarnings("unchecked")
    DataBlock<Object> whole(int[] size, long[] position) {
        if (type == DataType.STRING) {
            String[] texts = new String[elements.length];
            for (int i = 0; i < texts.length; ++i)
                texts[i] = new String(elements[i], StandardCharsets.UTF_8);
            return (DataBlock<Object>) (DataBlock<?>) new StringDataBlock(size, position, texts);
        }
        DataBlock<?> block = type.createDataBlock(size, position, elements.length);
        ByteBuffer bytes = ByteBuffer.wrap(bytes()).order(ByteOrder.LITTLE_ENDIAN);
        Object data = block.getData();
        if (data instanceof byte[]) bytes.get((byte[]) data);
        else if (data instanceof short[]) bytes.asShortBuffer().get((short[]) data);
        else if (data instanceof int[]) bytes.asIntBuffer().get((int[]) data);
        else if (data instanceof long[]) bytes.asLongBuffer().get((long[]) data);
        else if (data instanceof float[]) bytes.asFloatBuffer().get((float[]) data);
        else bytes.asDoubleBuffer().get((double[]) data);
        return (DataBlock<Object>) block;
    }

    /** The block of a dataset at a position of its grid. What lies outside of the dataset is zero. */
    DataBlock<Object> block(DatasetAttributes dataset, long[] at, int[] size) {
        byte[][] inside = new byte[DataBlock.getNumElements(size)][];
        for (int i = 0; i < inside.length; ++i) {
            int from = place(dataset, at, size, i);
            inside[i] = from < 0 ? new byte[elements[0].length] : elements[from];
        }
        return new Elements(type, inside).whole(size, at);
    }

    /** Takes over the elements of a block. */
    void put(DatasetAttributes dataset, long[] at, DataBlock<?> block) {
        byte[][] inside = of(block, type).elements;
        for (int i = 0; i < inside.length; ++i) {
            int to = place(dataset, at, block.getSize(), i);
            if (to >= 0)
                elements[to] = inside[i];
        }
    }

    /** Where the element `i` of a block is in the dataset, or -1. */
    private static int place(DatasetAttributes dataset, long[] at, int[] size, int i) {
        long place = 0, stride = 1;
        for (int d = 0; d < size.length; ++d) {
            long along = at[d] * dataset.getChunkSize()[d] + i % size[d];
            if (along >= dataset.getDimensions()[d])
                return -1;
            place += along * stride;
            stride *= dataset.getDimensions()[d];
            i /= size[d];
        }
        return (int) place;
    }
}
