/** Zarr v3 as n5-zarr writes and reads it, with shards. */

import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.janelia.saalfeldlab.n5.Compression;
import org.janelia.saalfeldlab.n5.DatasetAttributes;
import org.janelia.saalfeldlab.n5.FileSystemKeyValueAccess;
import org.janelia.saalfeldlab.n5.N5Writer;
import org.janelia.saalfeldlab.n5.RawCompression;
import org.janelia.saalfeldlab.n5.codec.BlockCodecInfo;
import org.janelia.saalfeldlab.n5.codec.DataCodecInfo;
import org.janelia.saalfeldlab.n5.codec.checksum.Crc32cChecksumCodec;
import org.janelia.saalfeldlab.n5.shard.DefaultShardCodecInfo;
import org.janelia.saalfeldlab.n5.shard.ShardIndex.IndexLocation;
import org.janelia.saalfeldlab.n5.zarr.chunks.ChunkAttributes;
import org.janelia.saalfeldlab.n5.zarr.chunks.DefaultChunkKeyEncoding;
import org.janelia.saalfeldlab.n5.zarr.chunks.RegularChunkGrid;
import org.janelia.saalfeldlab.n5.zarr.codec.PaddedRawBlockCodecInfo;
import org.janelia.saalfeldlab.n5.zarr.v3.ZarrV3Compressor;
import org.janelia.saalfeldlab.n5.zarr.v3.ZarrV3DataType;
import org.janelia.saalfeldlab.n5.zarr.v3.ZarrV3DatasetAttributes;
import org.janelia.saalfeldlab.n5.zarr.v3.ZarrV3KeyValueWriter;

public final class Zarr3 implements Peer.Format {
    @Override
    public N5Writer open(JsonObject command) {
        return new ZarrV3KeyValueWriter(new FileSystemKeyValueAccess(), command.get("store").getAsString(), new GsonBuilder(), false);
    }

    @Override
    public DatasetAttributes dataset(JsonObject command) {
        ZarrV3DataType type = ZarrV3DataType.valueOf(command.get("data_type").getAsString());
        String fill = command.get("fill_value").getAsString();
        ByteOrder order = command.get("endian").getAsString().equals("big") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
        BlockCodecInfo bytes = new PaddedRawBlockCodecInfo(order, type.createFillBytes(fill));
        DataCodecInfo[] behind = codecs(command);
        int[] chunk = Peer.ints(command, "block_size");
        JsonElement shard = command.get("shard");
        if (!shard.isJsonNull()) {
            JsonObject sharding = shard.getAsJsonObject();
            DataCodecInfo[] check = sharding.get("checksum").getAsBoolean()
                    ? new DataCodecInfo[] {new Crc32cChecksumCodec()}
                    : new DataCodecInfo[0];
            BlockCodecInfo index = new PaddedRawBlockCodecInfo(
                    sharding.get("big_index").getAsBoolean() ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN, new byte[8]);
            IndexLocation where = sharding.get("at_start").getAsBoolean() ? IndexLocation.START : IndexLocation.END;
            bytes = new DefaultShardCodecInfo(chunk, bytes, behind, index, check, where);
            behind = new DataCodecInfo[0];
            chunk = Peer.ints(sharding, "size");
        }
        DefaultChunkKeyEncoding keys = new DefaultChunkKeyEncoding(command.get("separator").getAsString());
        ChunkAttributes grid = new ChunkAttributes(new RegularChunkGrid(chunk), keys);
        String[] names = Peer.GSON.fromJson(command.get("dimension_names"), String[].class);
        return new ZarrV3DatasetAttributes(Peer.longs(command, "dimensions"), grid, type, fill, names, bytes, null, behind);
    }

    /** Those behind the bytes. */
    private static DataCodecInfo[] codecs(JsonObject command) {
        List<DataCodecInfo> codecs = new ArrayList<>();
        Compression compression = Peer.compression(command);
        DataCodecInfo ofZarr = ZarrV3Compressor.fromCompression(compression);
        // What n5-zarr has no codec of its own for, it takes as it is.
        if (!(compression instanceof RawCompression))
            codecs.add(ofZarr == null ? compression : ofZarr);
        if (command.get("checksum").getAsBoolean())
            codecs.add(new Crc32cChecksumCodec());
        return codecs.toArray(new DataCodecInfo[0]);
    }

    @Override
    public byte[] missing(DatasetAttributes dataset) {
        return ((ZarrV3DatasetAttributes) dataset).getFillBytes();
    }
}
