/** Java N5 and n5-zarr for `cargo xtask conformance --java`: commands come as lines of JSON, and each gets a line as its answer. */

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.janelia.saalfeldlab.n5.Compression;
import org.janelia.saalfeldlab.n5.CompressionAdapter;
import org.janelia.saalfeldlab.n5.DataBlock;
import org.janelia.saalfeldlab.n5.DataType;
import org.janelia.saalfeldlab.n5.DatasetAttributes;
import org.janelia.saalfeldlab.n5.N5FSWriter;
import org.janelia.saalfeldlab.n5.N5Writer;

public final class Peer {

    /** What differs between N5, Zarr v2 and Zarr v3. The last two are in files of their own, as n5-zarr may not be there. */
    interface Format {
        N5Writer open(JsonObject command) throws Exception;

        DatasetAttributes dataset(JsonObject command) throws Exception;

        /** An element that no chunk holds, in big endian. */
        byte[] missing(DatasetAttributes dataset) throws Exception;
    }

    static final class N5 implements Format {
        @Override
        public N5Writer open(JsonObject command) {
            return new N5FSWriter(command.get("store").getAsString());
        }

        @Override
        public DatasetAttributes dataset(JsonObject command) {
            DataType type = DataType.fromString(command.get("data_type").getAsString());
            return new DatasetAttributes(longs(command, "dimensions"), ints(command, "block_size"), type, compression(command));
        }

        @Override
        public byte[] missing(DatasetAttributes dataset) {
            return new byte[8];
        }
    }

    /** Nulls in attributes are meant. */
    static final Gson GSON = new GsonBuilder()
            .serializeNulls()
            .disableHtmlEscaping()
            .registerTypeHierarchyAdapter(Compression.class, CompressionAdapter.getJsonAdapter())
            .create();

    static Compression compression(JsonObject command) {
        JsonElement json = command.get("compression");
        Compression compression = GSON.fromJson(json, Compression.class);
        if (compression == null)
            throw new IllegalArgumentException("no compression " + json);
        return compression;
    }

    static long[] longs(JsonObject command, String name) {
        return GSON.fromJson(command.get(name), long[].class);
    }

    static int[] ints(JsonObject command, String name) {
        return GSON.fromJson(command.get(name), int[].class);
    }

    /** Writes a dataset, and its attributes if there are any. */
    static void write(Format format, JsonObject command) throws Exception {
        String node = command.get("node").getAsString();
        try (N5Writer n5 = format.open(command)) {
            DatasetAttributes dataset = command.has("defaults")
                    ? byDefaults(n5, node, command)
                    : n5.createDataset(node, format.dataset(command));
            Elements all = Elements.of(Files.readAllBytes(Paths.get(command.get("elements").getAsString())), dataset.getDataType());
            // Those of a shard are written at once.
            List<DataBlock<Object>> blocks = new ArrayList<>();
            for (JsonElement position : command.getAsJsonArray("blocks")) {
                long[] at = GSON.fromJson(position, long[].class);
                int[] size = dataset.getChunkSize().clone();
                for (int d = 0; d < size.length && !command.get("padded").getAsBoolean(); ++d)
                    size[d] = (int) Math.min(size[d], dataset.getDimensions()[d] - at[d] * dataset.getChunkSize()[d]);
                blocks.add(all.block(dataset, at, size));
            }
            n5.writeChunks(node, dataset, asArray(blocks));
            setAttributes(n5, node, command);
        }
    }

    /** As programs do that care for no more. */
    private static DatasetAttributes byDefaults(N5Writer n5, String node, JsonObject command) {
        DataType type = DataType.fromString(command.get("data_type").getAsString());
        return n5.createDataset(node, longs(command, "dimensions"), ints(command, "block_size"), type, compression(command));
    }

    @SuppressWarnings("unchecked")
    private static DataBlock<Object>[] asArray(List<DataBlock<Object>> blocks) {
        return blocks.toArray(new DataBlock[0]);
    }

    private static void setAttributes(N5Writer n5, String node, JsonObject command) {
        Map<String, JsonElement> attributes = new TreeMap<>();
        for (Map.Entry<String, JsonElement> attribute : command.getAsJsonObject("attributes").entrySet())
            attributes.put(attribute.getKey(), attribute.getValue());
        if (!attributes.isEmpty())
            n5.setAttributes(node, attributes);
    }

    /** Reads all elements of a dataset, and the attributes that are asked for. */
    static JsonObject read(Format format, JsonObject command) throws Exception {
        String node = command.get("node").getAsString();
        try (N5Writer n5 = format.open(command)) {
            DatasetAttributes dataset = n5.getDatasetAttributes(node);
            if (dataset == null)
                throw new IllegalArgumentException("shows no dataset");
            Elements all = Elements.filled(dataset, format.missing(dataset));
            for (long[] at : grid(dataset)) {
                DataBlock<?> block = n5.readChunk(node, dataset, at);
                if (block != null)
                    all.put(dataset, at, block);
            }
            Files.write(Paths.get(command.get("elements").getAsString()), all.bytes());
            JsonObject says = new JsonObject();
            says.add("dimensions", GSON.toJsonTree(dataset.getDimensions()));
            says.add("block_size", GSON.toJsonTree(dataset.getChunkSize()));
            says.addProperty("data_type", dataset.getDataType().toString());
            says.add("attributes", attributes(n5, node, command));
            return says;
        }
    }

    private static JsonObject attributes(N5Writer n5, String node, JsonObject command) {
        JsonObject found = new JsonObject();
        for (JsonElement name : command.getAsJsonArray("attribute_names"))
            found.add(name.getAsString(), n5.getAttribute(node, name.getAsString(), JsonElement.class));
        return found;
    }

    /** All positions of blocks. */
    static List<long[]> grid(DatasetAttributes dataset) {
        List<long[]> grid = new ArrayList<>();
        grid.add(new long[dataset.getNumDimensions()]);
        for (int d = 0; d < dataset.getNumDimensions(); ++d) {
            int size = dataset.getChunkSize()[d];
            long count = (dataset.getDimensions()[d] + size - 1) / size;
            List<long[]> longer = new ArrayList<>();
            for (long[] start : grid)
                for (long i = 0; i < count; ++i) {
                    long[] at = start.clone();
                    at[d] = i;
                    longer.add(at);
                }
            grid = longer;
        }
        return grid;
    }

    /** Makes a group, with attributes. */
    static void group(Format format, JsonObject command) throws Exception {
        String node = command.get("node").getAsString();
        try (N5Writer n5 = format.open(command)) {
            n5.createGroup(node);
            setAttributes(n5, node, command);
        }
    }

    /** All nodes below the root, whether each is a dataset, and attributes of one of them. */
    static JsonObject nodes(Format format, JsonObject command) throws Exception {
        try (N5Writer n5 = format.open(command)) {
            String[] names = n5.deepList("/");
            Arrays.sort(names);
            JsonArray datasets = new JsonArray();
            for (String name : names)
                datasets.add(n5.datasetExists(name));
            JsonObject says = new JsonObject();
            says.add("nodes", GSON.toJsonTree(names));
            says.add("datasets", datasets);
            says.add("attributes", attributes(n5, command.get("node").getAsString(), command));
            return says;
        }
    }

    /** Writes one N5 block of any number of elements, or an object. Without a size it is one: the mode follows from both. */
    static void writeBlock(Format format, JsonObject command) throws Exception {
        String node = command.get("node").getAsString();
        try (N5Writer n5 = format.open(command)) {
            DatasetAttributes dataset = n5.datasetExists(node)
                    ? n5.getDatasetAttributes(node)
                    : n5.createDataset(node, format.dataset(command));
            Elements all = Elements.of(Files.readAllBytes(Paths.get(command.get("elements").getAsString())), dataset.getDataType());
            n5.writeChunk(node, dataset, all.whole(ints(command, "size"), longs(command, "block")));
        }
    }

    /** Reads one N5 block as it is. */
    static JsonObject readBlock(Format format, JsonObject command) throws Exception {
        String node = command.get("node").getAsString();
        try (N5Writer n5 = format.open(command)) {
            DatasetAttributes dataset = n5.getDatasetAttributes(node);
            DataBlock<?> block = n5.readChunk(node, dataset, longs(command, "block"));
            Path file = Paths.get(command.get("elements").getAsString());
            Files.write(file, Elements.of(block, dataset.getDataType()).bytes());
            JsonObject says = new JsonObject();
            says.add("size", GSON.toJsonTree(block.getSize()));
            return says;
        }
    }

    /** What of the class path can be used: whatever fails here would fail everywhere, and says why. */
    static JsonObject libraries() {
        Map<String, String> classes = new TreeMap<>();
        classes.put("n5", "org.janelia.saalfeldlab.n5.N5FSWriter");
        classes.put("n5-blosc", "org.janelia.saalfeldlab.n5.blosc.BloscCompression");
        classes.put("n5-zstandard", "org.janelia.scicomp.n5.zstandard.ZstandardCompression");
        classes.put("n5-zarr", "org.janelia.saalfeldlab.n5.zarr.N5ZarrWriter");
        classes.put("n5-zarr v3", "org.janelia.saalfeldlab.n5.zarr.v3.ZarrV3KeyValueWriter");
        JsonObject found = new JsonObject();
        for (Map.Entry<String, String> library : classes.entrySet())
            try {
                // That of n5-blosc loads the library in C.
                Class.forName(library.getValue());
                found.addProperty(library.getKey(), version(library.getKey().split(" ")[0]));
            } catch (ClassNotFoundException missing) {
                System.err.println(library.getKey() + " is not on the class path");
            } catch (LinkageError broken) {
                System.err.println(library.getKey() + ": " + broken + ": " + broken.getCause());
            }
        return found;
    }

    /** As Maven notes it in the archive. */
    private static String version(String library) {
        String group = library.equals("n5-zstandard") ? "org.janelia" : "org.janelia.saalfeldlab";
        String file = "/META-INF/maven/" + group + "/" + library + "/pom.properties";
        try (java.io.InputStream stream = Peer.class.getResourceAsStream(file)) {
            java.util.Properties properties = new java.util.Properties();
            properties.load(stream);
            return properties.getProperty("version");
        } catch (Exception unknown) {
            return "of an unknown version";
        }
    }

    private static JsonElement answer(JsonObject command) throws Exception {
        String what = command.get("do").getAsString();
        if (what.equals("libraries"))
            return libraries();
        String name = command.get("format").getAsString();
        Format format = name.equals("n5") ? new N5() : (Format) Class.forName(name.equals("zarr2") ? "Zarr2" : "Zarr3").getDeclaredConstructor().newInstance();
        switch (what) {
            case "write": write(format, command); break;
            case "group": group(format, command); break;
            case "write block": writeBlock(format, command); break;
            case "read": return read(format, command);
            case "nodes": return nodes(format, command);
            case "read block": return readBlock(format, command);
            default: throw new IllegalArgumentException("unknown command " + what);
        }
        return new JsonObject();
    }

    public static void main(String[] words) throws Exception {
        // Whatever else prints, prints elsewhere.
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonObject answer = new JsonObject();
            try {
                answer.add("says", answer(GSON.fromJson(line, JsonObject.class)));
            } catch (Exception | LinkageError error) {
                Throwable cause = error;
                while (cause.getCause() != null)
                    cause = cause.getCause();
                answer.addProperty("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
            }
            out.println(GSON.toJson(answer));
        }
    }
}
